package nodeview

import (
	"regexp"
	"strings"
)

var diskFamilies = []family{
	disk("node_disk_discard_time_seconds_total", "discard_rawactive", "Time of all discards"),
	sectors("node_disk_discarded_sectors_total", "blkdiscard", 1, "Sectors that were discarded"),
	disk("node_disk_discards_completed_total", "discard", "Discards that were done"),
	disk("node_disk_discards_merged_total", "discard_merge", "Discards that were merged with others"),
	disk("node_disk_flush_requests_time_seconds_total", "flush_rawactive", "Time of all flushes"),
	disk("node_disk_flush_requests_total", "flush", "Flushes that were done"),
	{"node_disk_io_now", "Requests that are under way", gauge, disk("", "inflight", "").sources},
	disk("node_disk_io_time_seconds_total", "avactive", "Time that requests were under way"),
	disk("node_disk_io_time_weighted_seconds_total", "aveq", "Time of requests, those that were under way and those that waited"),
	sectors("node_disk_read_bytes_total", "blkread", 512, "Bytes that were read"),
	disk("node_disk_read_time_seconds_total", "read_rawactive", "Time of all reads"),
	disk("node_disk_reads_completed_total", "read", "Reads that were done"),
	disk("node_disk_reads_merged_total", "read_merge", "Reads that were merged with others"),
	disk("node_disk_write_time_seconds_total", "write_rawactive", "Time of all writes"),
	disk("node_disk_writes_completed_total", "write", "Writes that were done"),
	disk("node_disk_writes_merged_total", "write_merge", "Writes that were merged with others"),
	sectors("node_disk_written_bytes_total", "blkwrite", 512, "Bytes that were written"),
}

// disk returns a counter of disks and of devices that consist of disks, without partitions. PCP has
// them in separate domains. The kernel's names of the latter are in another metric.
func disk(name, metric, help string) family {
	return family{name, help, counter, []source{
		{metric: "disk.dev." + metric, by: device},
		{metric: "disk.dm." + metric, by: unnamed, joins: []join{{label: "device", metric: "hinv.map.dmname", required: true, text: baseName}}},
		{metric: "disk.md." + metric, by: unnamed, joins: []join{{label: "device", metric: "hinv.map.mdname", required: true, text: baseName}}},
	}}
}

// unnamed returns no label, for instances that are named by a join.
func unnamed(string) (label, bool) { return label{}, true }

func baseName(path string) (string, bool) {
	return path[strings.LastIndexByte(path, '/')+1:], true
}

// sectors is like disk, but multiplies values by mul.
func sectors(name, metric string, mul float64, help string) family {
	f := disk(name, metric, help)
	for i := range f.sources {
		f.sources[i].mul = mul
	}
	return f
}

var filesystemFamilies = []family{
	filesystem("node_filesystem_avail_bytes", "avail", "free", "Bytes that users without privileges can have"),
	{"node_filesystem_device_error", "1 if the file system did not tell its size", gauge, []source{
		{metric: "filesys.capacity", by: blockDevice, labels: ofDevices, joins: mounted, value: always(0), mul: 1},
		{metric: "tmpfs.capacity", by: tmpfs, labels: tmpfsLabels, value: always(0), mul: 1},
	}},
	filesystem("node_filesystem_files", "maxfiles", "maxfiles", "How many files there can be"),
	filesystem("node_filesystem_files_free", "freefiles", "freefiles", "How many files can be created"),
	filesystem("node_filesystem_free_bytes", "free", "free", "Bytes that are free"),
	{"node_filesystem_readonly", "1 if the file system is mounted read-only", gauge, []source{
		{metric: "filesys.readonly", by: blockDevice, labels: ofDevices, joins: mounted},
	}},
	filesystem("node_filesystem_size_bytes", "capacity", "capacity", "The size of the file system"),
}

// filesystem returns a family of file systems on devices and in memory. The latter reserve nothing
// for the superuser.
func filesystem(name, ofDevice, ofMemory, help string) family {
	return family{name, help, gauge, []source{
		{metric: "filesys." + ofDevice, by: blockDevice, labels: ofDevices, joins: mounted},
		{metric: "tmpfs." + ofMemory, by: tmpfs, labels: tmpfsLabels},
	}}
}

// mounted adds the mount point of a file system on a device.
var mounted = []join{
	{label: "mountpoint", metric: "filesys.mountdir", required: true, text: mountPoint},
}

// ofDevices are labels of all file systems on devices. Alerts require that fstype is not empty.
var ofDevices = []label{{"fstype", "unknown"}}

var tmpfsLabels = []label{{"device", "tmpfs"}, {"fstype", "tmpfs"}}

// excludedMounts matches the mount points that node_exporter omits by default.
var excludedMounts = regexp.MustCompile(`^/(dev|proc|run/credentials/.+|sys|var/lib/docker/.+|var/lib/containers/storage/.+)($|/)`)

func mountPoint(dir string) (string, bool) { return dir, !excludedMounts.MatchString(dir) }

func tmpfs(instance string) (label, bool) {
	dir, ok := mountPoint(instance)
	return label{"mountpoint", dir}, ok
}

// blockDevice omits loop devices, because node_exporter omits most types of file systems on them.
func blockDevice(instance string) (label, bool) {
	return label{"device", instance}, !strings.HasPrefix(instance, "/dev/loop")
}
