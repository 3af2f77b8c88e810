package pmdalinux

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// ipcInfo are the limits that are in no file. Most are constants that the kernel itself no longer
// uses.
type ipcInfo struct {
	semmap, semmnu, semume, semusz, semvmx, semaem int32
	msgpool, msgmap, msgssz, msgtql                int32
	msgseg                                         uint16
}

// addIPCLimits adds the metrics of limits: those below /proc/sys/kernel, and this machine's, which
// system calls return.
func (l *linux) addIPCLimits() {
	limit := func(name string, cluster, item int, file string, column int, units pdu.Units, text string) numberMetric[uint32] {
		return numberMetric[uint32]{file: "proc/sys/kernel/" + file, column: column, Metric: pmda.Metric[uint32]{
			Name: name, ID: pmda.Item(cluster, item), Sem: pdu.SemDiscrete, Units: units, Text: text}}
	}
	addNumberFiles(l,
		limit("ipc.sem.max_perid", 21, 4, "sem", 0, 0, "Semaphores that a set can have"),
		limit("ipc.sem.max_sem", 21, 2, "sem", 1, 0, "Semaphores that there can be"),
		limit("ipc.sem.max_ops", 21, 5, "sem", 2, 0, "Operations that one call of semop can have"),
		limit("ipc.sem.max_semid", 21, 1, "sem", 3, 0, "Sets of semaphores that there can be"),
		limit("ipc.msg.max_msgsz", 22, 2, "msgmax", 0, 0, "Bytes that a message can have"),
		limit("ipc.msg.max_defmsgq", 22, 3, "msgmnb", 0, 0, "Bytes that a new queue of messages can have"),
		limit("ipc.msg.max_msgqid", 22, 4, "msgmni", 0, 0, "Queues of messages that there can be"),
		limit("ipc.shm.max_segsz", 23, 0, "shmmax", 0, pdu.SpaceByte, "Bytes that a shared memory segment can have; no value for 4 GiB or more"),
		limit("ipc.shm.max_seg", 23, 2, "shmmni", 0, 0, "Shared memory segments that there can be"),
		limit("ipc.shm.max_segproc", 23, 3, "shmmni", 0, 0, "Shared memory segments that a process can have"),
		limit("ipc.shm.max_shmsys", 23, 4, "shmall", 0, 0, "Pages of shared memory that there can be; no value for 2³² or more"),
	)
	var now ipcInfo
	g := l.Group(func(context.Context, *pmda.Request) (err error) {
		if l.root != "/" {
			return pdu.ErrAppVersion // the limits of the tree's machine are unknown
		}
		now, err = readIPCInfo()
		return err
	})
	for _, m := range []struct {
		name          string
		cluster, item int
		units         pdu.Units
		v             *int32
		text          string
	}{
		{"ipc.sem.max_semmap", 21, 0, 0, &now.semmap, "Entries in the map of semaphores, which the kernel does not have any more"},
		{"ipc.sem.num_undo", 21, 3, 0, &now.semmnu, "Structures to undo operations on semaphores; the kernel does not limit them"},
		{"ipc.sem.max_undoent", 21, 6, 0, &now.semume, "Operations on semaphores to undo that a process can have; the kernel does not limit them"},
		{"ipc.sem.sz_semundo", 21, 7, 0, &now.semusz, "Bytes of a structure to undo operations on semaphores, as the kernel says for old programs"},
		{"ipc.sem.max_semval", 21, 8, 0, &now.semvmx, "The highest value of a semaphore"},
		{"ipc.sem.max_exit", 21, 9, 0, &now.semaem, "The highest value that is undone of a semaphore"},
		{"ipc.msg.sz_pool", 22, 0, pdu.SpaceKByte, &now.msgpool, "Kilobytes of all messages together; the kernel does not limit them"},
		{"ipc.msg.mapent", 22, 1, 0, &now.msgmap, "Entries in the map of messages, which the kernel does not have any more"},
		{"ipc.msg.max_msgseg", 22, 5, 0, &now.msgssz, "Bytes of a segment of a message, as the kernel says for old programs"},
		{"ipc.msg.num_smsghdr", 22, 6, 0, &now.msgtql, "Headers of messages; the kernel does not limit them"},
	} {
		l.addIPCLimit(m.name, m.cluster, m.item, m.units, m.text, g, func() uint32 { return uint32(*m.v) })
	}
	l.addIPCLimit("ipc.msg.max_seg", 22, 7, 0, "Segments of messages; the kernel does not limit them", g, func() uint32 { return uint32(now.msgseg) })
	l.addIPCLimit("ipc.shm.min_segsz", 23, 1, pdu.SpaceByte, "Bytes that a shared memory segment has to have, which is 1", g, func() uint32 { return 1 })
}

// addIPCLimit adds a metric of a limit.
func (l *linux) addIPCLimit(name string, cluster, item int, units pdu.Units, text string, g *pmda.Group, v func() uint32) {
	pmda.Register(l.Agent, pmda.Metric[uint32]{Name: name, ID: pmda.Item(cluster, item), Group: g,
		Sem: pdu.SemDiscrete, Units: units, Text: text,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return v(), nil }})
}
