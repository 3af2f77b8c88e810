package pmdalinux

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// reopened are files, and directories of files, that do not stay open. The first may be replaced by
// another file. An open file keeps a file system from being unmounted, and an open pool_stats keeps
// the NFS server from ending.
var reopened = []string{"var/run/", "proc/fs/nfsd/", "sys/kernel/debug/"}

// records are the maximum lengths of the records of files, by file or directory: see
// procfile.File.Record. The longest matching name wins. Files whose records have no maximum are not
// listed: mounts in /proc/self/mounts, nodes in /proc/zoneinfo, disks with their partitions in
// /proc/diskstats, and locks with their waiters in /proc/locks.
var records = map[string]int{
	"proc/loadavg":             procfile.Single,
	"proc/meminfo":             procfile.Single,
	"proc/stat":                procfile.Single,
	"proc/uptime":              procfile.Single,
	"proc/softirqs":            procfile.Single,
	"proc/pressure/":           procfile.Single,
	"proc/sys/":                procfile.Single,
	"proc/net/rpc/":            procfile.Single,
	"proc/net/snmp":            procfile.Single,
	"proc/net/snmp6":           procfile.Single,
	"proc/net/netstat":         procfile.Single,
	"proc/net/sockstat":        procfile.Single,
	"proc/net/sockstat6":       procfile.Single,
	"sys/kernel/mm/":           procfile.Single,
	"sys/kernel/uevent_seqnum": procfile.Single,

	"proc/vmstat":           512,
	"proc/buddyinfo":        2048, // a node is a record
	"proc/slabinfo":         1024, // the first has the title too
	"proc/sysvipc/":         512,
	"proc/net/dev":          512,
	"proc/net/if_inet6":     512,
	"proc/net/softnet_stat": 512,
	"proc/net/tcp":          512,
	"proc/net/tcp6":         512,
	"proc/net/udp":          512,
	"proc/net/udp6":         512,
	"proc/net/raw":          512,
	"proc/net/raw6":         512,
	"proc/net/unix":         512,
}

// recordOf returns the Record of a file.
func recordOf(name string) int {
	longest, record := 0, 0
	for prefix, n := range records {
		if len(prefix) > longest && (prefix == name || strings.HasSuffix(prefix, "/") && strings.HasPrefix(name, prefix)) {
			longest, record = len(prefix), n
		}
	}
	return record
}

// file returns a File of a file below the root directory.
func (l *linux) file(name string) *procfile.File {
	f := &procfile.File{Path: l.path(name), Record: recordOf(name), Reopen: l.view != nil}
	for _, prefix := range reopened {
		f.Reopen = f.Reopen || strings.HasPrefix(name, prefix)
	}
	return f
}

// absent converts the error of a missing file to that of unsupported metrics.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return pdu.ErrAppVersion
	}
	return err
}
