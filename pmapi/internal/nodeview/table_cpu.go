package nodeview

import "strings"

var cpuFamilies = []family{
	{"node_cpu_seconds_total", "Time that a CPU was in a mode", counter, []source{
		cpuMode("idle", "kernel.percpu.cpu.idle"), cpuMode("iowait", "kernel.percpu.cpu.wait.total"), cpuMode("irq", "kernel.percpu.cpu.irq.hard"),
		cpuMode("nice", "kernel.percpu.cpu.nice"), cpuMode("softirq", "kernel.percpu.cpu.irq.soft"), cpuMode("steal", "kernel.percpu.cpu.steal"),
		cpuMode("system", "kernel.percpu.cpu.sys"), cpuMode("user", "kernel.percpu.cpu.user"),
	}},
	{"node_cpu_guest_seconds_total", "Time that a CPU ran virtual machines, which the modes user and nice have too", counter, []source{
		cpuMode("nice", "kernel.percpu.cpu.guest_nice"), cpuMode("user", "kernel.percpu.cpu.guest"),
	}},
}

func cpuMode(mode, metric string) source {
	return source{metric: metric, labels: []label{{"mode", mode}}, by: cpu}
}

// cpu returns the number of a CPU as the label cpu.
func cpu(instance string) (label, bool) {
	number, ok := strings.CutPrefix(instance, "cpu")
	return label{"cpu", number}, ok
}

var cpufreqFamilies = []family{
	{"node_cpu_frequency_max_hertz", "The highest frequency that a CPU can have", gauge, []source{{metric: "hinv.cpu.frequency_scaling.max", by: cpu}}},
	{"node_cpu_frequency_min_hertz", "The lowest frequency that a CPU can have", gauge, []source{{metric: "hinv.cpu.frequency_scaling.min", by: cpu}}},
}

var loadFamilies = []family{
	{"node_load1", "Load average over a minute", gauge, []source{{metric: "kernel.all.load", only: 1}}},
	{"node_load5", "Load average over 5 minutes", gauge, []source{{metric: "kernel.all.load", only: 5}}},
	{"node_load15", "Load average over 15 minutes", gauge, []source{{metric: "kernel.all.load", only: 15}}},
}

var statFamilies = []family{
	one("node_boot_time_seconds", gauge, "kernel.all.boottime", "When the computer was started, in seconds since 1970"),
	one("node_context_switches_total", counter, "kernel.all.pswitch", "Switches of CPUs from one task to another"),
	one("node_forks_total", counter, "kernel.all.sysfork", "Tasks that were created"),
	one("node_intr_total", counter, "kernel.all.intr", "Interrupts that were served"),
	one("node_procs_blocked", gauge, "kernel.all.blocked", "Tasks that wait for a device"),
	one("node_procs_running", gauge, "kernel.all.running", "Tasks that run or could run"),
}

var pressureFamilies = []family{
	one("node_pressure_cpu_waiting_seconds_total", counter, "kernel.all.pressure.cpu.some.total", "Time that some task waited for a CPU"),
	one("node_pressure_io_stalled_seconds_total", counter, "kernel.all.pressure.io.full.total", "Time that all tasks waited for input or output"),
	one("node_pressure_io_waiting_seconds_total", counter, "kernel.all.pressure.io.some.total", "Time that some task waited for input or output"),
	one("node_pressure_memory_stalled_seconds_total", counter, "kernel.all.pressure.memory.full.total", "Time that all tasks waited for memory"),
	one("node_pressure_memory_waiting_seconds_total", counter, "kernel.all.pressure.memory.some.total", "Time that some task waited for memory"),
	one("node_pressure_irq_stalled_seconds_total", counter, "kernel.all.pressure.irq.full.total", "Time that all tasks waited for interrupts to be served"),
}

var entropyFamilies = []family{
	one("node_entropy_available_bits", gauge, "kernel.all.entropy.avail", "Entropy that there is for random numbers"),
	one("node_entropy_pool_size_bits", gauge, "kernel.all.entropy.poolsize", "How much entropy there can be"),
}

var filefdFamilies = []family{
	one("node_filefd_allocated", gauge, "vfs.files.count", "Files that are open"),
	one("node_filefd_maximum", gauge, "vfs.files.max", "How many files can be open"),
}

var unameFamilies = []family{
	{"node_uname_info", "What uname tells of the system", gauge, []source{{metric: "hinv.pagesize", value: always(1), mul: 1, joins: []join{
		{label: "machine", metric: "kernel.uname.machine"}, {label: "nodename", metric: "kernel.uname.nodename", required: true},
		{label: "release", metric: "kernel.uname.release", required: true}, {label: "sysname", metric: "kernel.uname.sysname"},
		{label: "version", metric: "kernel.uname.version"},
	}}}},
}
