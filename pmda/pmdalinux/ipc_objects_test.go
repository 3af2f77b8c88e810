package pmdalinux_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	shmTitle = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap\n"
	msgTitle = "       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid      stime      rtime      ctime\n"
	semTitle = "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n"
)

// ipcFiles has objects with different numbers, of users with and without a name.
var ipcFiles = files{
	"proc/sysvipc/shm": shmTitle + "         0   45023232  1600 393216 19464 19471 2 0 5 6 7 11 12 13 196608 4096\n" +
		"-559038737 7  2644 131072 1 2 3 33 0 0 0 4 5 6 4097 8192\n" + "2147483647 9 3007 65536 4 5 0 987654 0 0 0 0 0 0 0 0\n",
	"proc/sysvipc/msg": msgTitle + "1801303486 65538 644 12327810 42 2874 57109 0 1 2 3 0 0 1555291319\n" + "-1 2 20 8 9 10 11 12 0 0 0 1 2 3\n",
	"proc/sysvipc/sem": semTitle + "0 983040 600 1 0 0 0 0 0 1555176121\n" + "18 3 7777 250 33 1 2 3 4 5\n",
}

func TestIPCSameAsC(t *testing.T) { samePrefixAsC(t, ipcFiles, "ipc.") }

// TestIPC compares the values of good and damaged files. The C agent uses system calls instead.
func TestIPC(t *testing.T) {
	const none = "Metric not supported by this version of monitored application"
	for _, tt := range []struct {
		name string
		tree files
		want string
	}{
		{"good", ipcFiles, `ipc.msg.tot_bytes 12327818
ipc.msg.used_queues 2
ipc.sem.tot_sem 251
ipc.shm.perms 0 "45023232" 600 1 "7" 644 2 "9" 7
ipc.shm.rss 200705
ipc.shm.segsz 0 "45023232" 393216 1 "7" 131072 2 "9" 65536
ipc.shm.status 0 "45023232" dest 1 "7" locked 2 "9" dest locked
ipc.shm.tot 589824
`},
		{"no files", files{}, `ipc.msg.tot_bytes: ` + none + `
ipc.msg.used_queues: ` + none + `
ipc.sem.tot_sem: ` + none + `
ipc.shm.perms: ` + none + `
ipc.shm.rss: ` + none + `
ipc.shm.segsz: ` + none + `
ipc.shm.status: ` + none + `
ipc.shm.tot: ` + none + `
`},
		{"damaged", files{
			"proc/sysvipc/shm": shmTitle + "x 1 684 5000000000 1 2 3 x\n" + "5 y 600 1 1 1 1 0\n" + "5 2 600 1 1 1 1 0\n" + "\n5 3 600 1 1",
			"proc/sysvipc/msg": msgTitle + "1 2\n",
			"proc/sysvipc/sem": "",
		}, `ipc.msg.tot_bytes
ipc.msg.used_queues
ipc.sem.tot_sem
ipc.shm.perms 0 "2" 600
ipc.shm.rss
ipc.shm.segsz 0 "2" 1
ipc.shm.status 0 "2"
ipc.shm.tot
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.tree.valuesOf(t, "ipc.shm.perms", "ipc.shm.segsz", "ipc.shm.status", "ipc.shm.tot", "ipc.shm.rss",
				"ipc.msg.tot_bytes", "ipc.msg.used_queues", "ipc.sem.tot_sem")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestIPCLimits checks that a limit too large for the metric has no value.
func TestIPCLimits(t *testing.T) {
	const none = "Metric not supported by this version of monitored application"
	got := files{
		"proc/sys/kernel/sem":    "32000\t1024000000\t500\t31999\n",
		"proc/sys/kernel/shmmax": "18446744073692774399\n",
		"proc/sys/kernel/shmmni": "4096\n",
	}.valuesOf(t, "ipc.sem.max_semid", "ipc.sem.max_sem", "ipc.shm.max_segsz", "ipc.shm.max_seg", "ipc.msg.max_msgsz", "ipc.sem.max_semval")
	want := `ipc.msg.max_msgsz: ` + none + `
ipc.sem.max_sem 1024000000
ipc.sem.max_semid 31999
ipc.sem.max_semval: ` + none + `
ipc.shm.max_seg 4096
ipc.shm.max_segsz
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

func TestIPCAllocs(t *testing.T) {
	allocatesNothing(t, ipcFiles.write(t), "ipc.shm.key", "ipc.shm.owner", "ipc.shm.status", "ipc.msg.msgsz", "ipc.sem.nsems", "ipc.shm.tot")
}
