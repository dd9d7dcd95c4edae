//! What is read of made-up machines.

use super::*;
use crate::tests::fixture;

const V1: &str = "31 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
    32 30 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
const V2: &str = "33 30 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const MEMINFO: &str = "MemTotal: 4096 kB\nMemAvailable: 1024 kB\nSwapTotal: 8 kB\n\
    SwapFree: 2 kB\nHugePages_Total: 3\n";

#[test]
fn a_machine_that_tells_nothing_has_no_facts() {
    assert_eq!(setup(&fixture(&[]).root), Setup::default());
}

#[test]
fn topology_caches_and_frequency_are_read_from_their_files() {
    let cpu = "sys/devices/system/cpu";
    let topology = |cpu: u32, socket: &str, core: &str| {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        [
            (
                format!("{folder}/topology/physical_package_id"),
                socket.to_owned(),
            ),
            (format!("{folder}/topology/core_id"), core.to_owned()),
            (
                format!("{folder}/cpufreq/scaling_governor"),
                format!("governor{socket}"),
            ),
        ]
    };
    let mut files: Vec<(String, String)> =
        [(0, "0", "0"), (1, "0", "0"), (2, "1", "0"), (3, "1", "0")]
            .into_iter()
            .flat_map(|(cpu, socket, core)| topology(cpu, socket, core))
            .collect();
    let more = [
        ("online", "0-3"),
        ("smt/active", "1"),
        ("cpu0/cpufreq/scaling_driver", "intel_pstate"),
        ("intel_pstate/no_turbo", "1"),
        ("cpu0/cache/index0/type", "Data"),
        ("cpu0/cache/index0/level", "1"),
        ("cpu0/cache/index0/size", "48K"),
        ("cpu0/cache/index0/shared_cpu_list", "0-1"),
        ("vulnerabilities/meltdown", "Mitigation: PTI\n"),
        ("vulnerabilities/mds", "Not affected\n"),
    ];
    files.extend(more.map(|(path, text)| (format!("{cpu}/{path}"), text.to_owned())));
    files.push(("sys/devices/system/node/online".into(), "0-1\n".into()));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    let wanted = Setup {
        sockets: Some(2),
        cores: Some(2),
        smt: Some(true),
        numa_nodes: Some(2),
        caches: vec!["L1d 48K, 2 CPUs".into()],
        frequency_driver: Some("intel_pstate".into()),
        governors: vec!["governor0".into(), "governor1".into()],
        turbo: Some(Switch {
            on: false,
            file: "/sys/devices/system/cpu/intel_pstate/no_turbo".into(),
            value: "1".into(),
        }),
        mitigations: [("meltdown".to_owned(), "Mitigation: PTI".to_owned())].into(),
        ..Setup::default()
    };
    assert_eq!(setup(&fixture(&files).root), wanted);
}

#[test]
fn the_lowest_limit_of_control_groups_of_either_version_is_found() {
    let v2 = [
        ("proc/self/mountinfo", V2),
        ("proc/self/cgroup", "0::/shop/web\n"),
        ("proc/meminfo", MEMINFO),
        ("sys/fs/cgroup/shop/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/shop/web/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/shop/memory.max", "1048576\n"),
        ("sys/fs/cgroup/shop/web/memory.max", "2097152\n"),
    ];
    let v1 = [
        ("proc/self/mountinfo", V1),
        ("proc/self/cgroup", "4:memory:/m\n1:cpu,cpuacct:/c\n"),
        ("proc/meminfo", MEMINFO),
        ("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "150000\n"),
        ("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "2097152\n"),
        (
            "sys/fs/cgroup/memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        ),
    ];
    let limits = |files: &[(&str, &str)]| {
        let group = setup(&fixture(files).root).control_group;
        let shown = |limit: Option<Limit>| limit.map(|it| (it.allows, it.file, it.value));
        (
            group.versions.join(" "),
            shown(group.cpu_quota),
            shown(group.memory),
        )
    };
    let limit = |allows, file: &str, value: &str| {
        Some((allows, format!("/sys/fs/cgroup/{file}"), value.to_owned()))
    };
    let wanted = (
        "v2".to_owned(),
        limit(0.5, "shop/cpu.max", "50000 100000"),
        limit(1_048_576.0, "shop/memory.max", "1048576"),
    );
    assert_eq!(limits(&v2), wanted);
    let wanted = (
        "v1".to_owned(),
        limit(1.5, "cpu/c/cpu.cfs_quota_us", "150000"),
        limit(2_097_152.0, "memory/m/memory.limit_in_bytes", "2097152"),
    );
    assert_eq!(limits(&v1), wanted);
    assert_eq!(
        limits(&[("proc/self/cgroup", "0::/\n")]),
        (String::new(), None, None)
    );
}

#[test]
fn settings_of_the_kernel_are_read_and_private_parameters_stay_private() {
    let tree = fixture(&[
        (
            "proc/cmdline",
            "root=UUID=1 password=x mitigations=off quiet -- idle=poll\n",
        ),
        ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
        ("proc/sys/net/ipv4/tcp_secret", "1\n"),
        ("proc/sys/kernel/osrelease", "6.1.0\n"),
        (
            "boot/config-6.1.0",
            "CONFIG_HZ=250\n# CONFIG_KASAN is not set\nCONFIG_HZ_250=y\n",
        ),
        (
            "proc/pressure/cpu",
            "some avg10=7.50 avg60=1.00 avg300=0.00 total=5\nfull avg10=0.10\n",
        ),
        ("proc/meminfo", MEMINFO),
        (
            "sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never\n",
        ),
        ("sys/kernel/security/lsm", "capability,yama,apparmor"),
        ("proc/self/status", "Name:\tx\nTracerPid:\t42\n"),
    ]);
    let found = setup(&tree.root);
    assert_eq!(found.boot_parameters, ["mitigations=off"]);
    assert_eq!(found.sysctls.len(), 1);
    assert_eq!(found.sysctl("net.ipv4.tcp_rmem", 2), Some(6_291_456));
    assert_eq!(found.kernel_options, ["CONFIG_HZ=250"]);
    assert_eq!(found.pressure, [("cpu".to_owned(), 7.5)].into());
    let memory = SystemMemory {
        available: Some(1 << 20),
        swap: Some(8 << 10),
        swap_used: Some(6 << 10),
        huge_pages: Some(3),
        transparent_huge_pages: Some("madvise".into()),
    };
    assert_eq!(found.memory, memory);
    assert_eq!(found.security_modules, ["capability", "yama", "apparmor"]);
    assert_eq!(found.traced_by, Some(42));
}

#[test]
fn packet_filters_and_captures_are_counted() {
    let packet = "sk RefCnt Type Proto Iface R Rmem User Inode\n\
        0000000000000000 3 3 0003 0 1 0 0 77\n0000000000000000 3 3 88cc 2 1 0 0 78\n";
    let tree = fixture(&[
        ("proc/net/ip_tables_names", "nat\nfilter\n"),
        ("proc/net/ip6_tables_names", "filter\n"),
        (
            "proc/modules",
            "nf_tables 303104 9 nft_ct, Live 0x0\next4 1 1 - Live 0x0\n",
        ),
        ("proc/sys/net/netfilter/nf_conntrack_count", "7\n"),
        ("proc/sys/net/netfilter/nf_conntrack_max", "262144\n"),
        ("proc/net/packet", packet),
    ]);
    let wanted = Packets {
        iptables: Some(vec!["filter".into(), "nat".into()]),
        modules: Some(vec!["nf_tables".into()]),
        tracked: Some(7),
        tracked_max: Some(262_144),
        captures: Some(1),
    };
    assert_eq!(setup(&tree.root).packets, wanted);
}

#[test]
fn a_file_that_may_not_be_read_is_named_and_a_missing_one_is_not() {
    let root = Root::machine();
    let files = Files::below(&root);
    assert_eq!(
        files.noted("/secret", Err(ErrorKind::PermissionDenied)),
        None
    );
    assert_eq!(files.noted("/missing", Err(ErrorKind::NotFound)), None);
    assert_eq!(files.denied.into_inner(), ["/secret"]);
}
