// A server of the files of folder/www. Of the three names `folder`, `port` and `tls` (null or options) the test knows the values.
const fs = require('fs'), http = require('http'), https = require('https');

const log = fs.openSync(`${folder}/access.log`, 'a');
const note = (...words) => fs.writeSync(log, words.join(' ') + '\n');

// What has gone over a connection since this was asked last.
const since = (socket) => {
  const { sent = 0, received = 0 } = socket.before ?? {};
  socket.before = { sent: socket.bytesWritten, received: socket.bytesRead };
  return [socket.bytesWritten - sent, socket.bytesRead - received];
};

const answer = (request, response) => {
  const { method, url, socket } = request;
  const opened = tls || socket.before ? [] : ['1', '-', '-'];
  response.on('finish', () => note(method, url, response.statusCode, ...since(socket), ...opened));
  request.resume();
  fs.readFile(`${folder}/www${url.split('?')[0]}`, (error, body) => {
    response.statusCode = error ? 404 : 200;
    response.end(error ? 'none' : body);
  });
};

const pem = tls && fs.readFileSync(`${folder}/site.pem`);
const server = tls ? https.createServer({ ...tls, cert: pem, key: pem }, answer) : http.createServer(answer);
server.on('secureConnection', (socket) => note('opened', socket.getProtocol(), socket.isSessionReused()));
server.listen(port, '127.0.0.1');
process.on('SIGTERM', () => server.close(() => process.exit(0)));
