-- What scripts find in the table `wrk`, beside the fields that are set from the URL.

wrk.method = "GET"
wrk.headers = {}

-- A request's bytes; what is not given is taken from `wrk`.
function wrk.format(method, path, headers, body)
  headers = headers or wrk.headers
  body = body or wrk.body
  local lines = { (method or wrk.method) .. " " .. (path or wrk.path) .. " HTTP/1.1" }
  local has_host = false
  for name, value in pairs(headers) do
    if name ~= "Content-Length" then
      lines[#lines + 1] = name .. ": " .. tostring(value)
    end
    has_host = has_host or name:lower() == "host"
  end
  if not has_host and wrk.headers["Host"] then
    lines[#lines + 1] = "Host: " .. wrk.headers["Host"]
  end
  if body then
    lines[#lines + 1] = "Content-Length: " .. #body
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = body or ""
  return table.concat(lines, "\r\n")
end

-- LuaJIT's own modules are not there; that is said instead of an index of nothing.
local function refused(name)
  return function()
    error("weigh runs scripts on Lua 5.1, which has no module " .. name .. " of LuaJIT", 2)
  end
end
for _, name in ipairs({ "ffi", "jit", "bit" }) do
  package.preload[name] = refused(name)
end
local without = { jit = refused("jit"), bit = refused("bit") }
setmetatable(_G, {
  __index = function(_, name)
    if without[name] then
      without[name]()
    end
  end,
})
