package pmdalinux

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// An ipcObject is a shared memory segment, a message queue or a semaphore set. Each is a line of a
// file in /proc/sysvipc.
type ipcObject struct {
	columns [16]uint64
	known   [16]bool
	key     string
	owner   string
	mode    uint32 // the permissions, and flags in higher bits
}

// An ipcTable is a file in /proc/sysvipc. Columns 0 to 2 are the key, the ID and the
// permissions.
type ipcTable struct {
	rows     instances[ipcObject]
	uid      int               // the column of the owner's user ID
	users    map[uint64]string // names of users
	complete bool              // all lines could be parsed
}

// parse reads the lines after the title.
func (t *ipcTable) parse(text []byte) error {
	t.rows.Begin()
	t.complete = procfile.HasCompleteLines(text)
	_, text, _ = procfile.CutLine(text) // the title
	for line := range procfile.Lines(text) {
		key, line := procfile.CutField(line)
		id, line := procfile.CutField(line)
		mode, line := procfile.CutField(line)
		_, okID := procfile.ParseUint32(id)
		keyBits, okKey := parseKey(key)
		bits, okMode := parseOctal(mode)
		if !okID || !okKey || !okMode {
			t.complete = false
			continue
		}
		o := t.rows.Row(id)
		o.setKey(keyBits)
		o.mode = bits
		for i := 3; i < len(o.columns); i++ {
			o.columns[i], line, o.known[i] = procfile.CutUint(line)
		}
		o.owner = t.user(o.columns[t.uid], o.known[t.uid])
	}
	if t.rows.Changed() {
		clear(t.users) // there may be new users too
	}
	return t.rows.End()
}

// parseKey reads a key, which the kernel prints as a signed number.
func parseKey(field []byte) (uint32, bool) {
	if amount, ok := bytes.CutPrefix(field, []byte("-")); ok {
		v, ok := procfile.ParseUint(amount)
		return uint32(-v), ok && v <= 1<<31
	}
	v, ok := procfile.ParseUint(field)
	return uint32(v), ok && v < 1<<31
}

// setKey sets the key, which is printed in hexadecimal.
func (o *ipcObject) setKey(key uint32) {
	if o.key == "" || o.columns[0] != uint64(key) {
		o.columns[0], o.key = uint64(key), fmt.Sprintf("0x%08x", key)
	}
}

// parseOctal parses the permissions and the flags.
func parseOctal(field []byte) (v uint32, ok bool) {
	for _, c := range field {
		if c < '0' || c > '7' || v >= 1<<20 {
			return 0, false
		}
		v = v<<3 | uint32(c-'0')
	}
	return v, len(field) > 0
}

// perms returns the octal digits of the permissions as a decimal number.
func (o *ipcObject) perms() uint32 { return o.mode>>6&7*100 + o.mode>>3&7*10 + o.mode&7 }

// user returns the name of a user of this machine, or the number of one without a name.
func (t *ipcTable) user(uid uint64, known bool) string {
	if !known {
		return ""
	}
	name, ok := t.users[uid]
	if !ok {
		name = strconv.FormatUint(uid, 10)
		if u, err := user.LookupId(name); err == nil {
			name = u.Username
		}
		if t.users == nil {
			t.users = map[uint64]string{}
		}
		t.users[uid] = name
	}
	return name
}

// sum adds up the values of all objects. It is not ok if a value is unknown or if the list may be
// incomplete.
func (t *ipcTable) sum(of func(*ipcObject) (uint64, bool)) (sum uint64, ok bool) {
	if !t.complete {
		return 0, false
	}
	for i := range t.rows.Vals {
		v, ok := of(&t.rows.Vals[i])
		if !ok {
			return 0, false
		}
		sum += v
	}
	return sum, true
}

// ipcColumn returns the number in a column. It is not ok if the number does not fit in 32 bits.
func ipcColumn(i int) func(*ipcObject) (uint32, bool) {
	return func(o *ipcObject) (uint32, bool) {
		return uint32(o.columns[i]), o.known[i] && o.columns[i] <= 1<<32-1
	}
}

// addIPC adds the metrics of System V shared memory, message queues and semaphores.
func (l *linux) addIPC() {
	l.addSharedMemory()
	l.addMessageQueues()
	l.addSemaphores()
	l.addIPCLimits()
}

// An ipcFile is a file below /proc/sysvipc with its instance domain and the metrics that all such
// files have.
type ipcFile struct {
	name              string
	serial, cluster   int
	object, text      string // of the instance domain
	uid               int    // the column of the owner's user ID
	key, owner, perms string // metrics
}

// add adds the instance domain and the metrics.
func (f ipcFile) add(l *linux) (*ipcTable, *pmda.Group) {
	t := &ipcTable{uid: f.uid}
	g := l.fileGroup("proc/sysvipc/"+f.name, t.parse)
	t.rows.indom = &pmda.InDom{Serial: pmda.InDomSerial(f.serial), Name: f.object, Text: f.text, Group: g}
	l.Attach(t.rows.indom)
	str := func(item int, metric, text string, of func(*ipcObject) (string, bool)) {
		pmda.Register(l.Agent, pmda.Metric[string]{Name: metric, ID: pmda.Item(f.cluster, item),
			InDom: t.rows.indom, Sem: pdu.SemDiscrete, Text: text, Values: rowValues(&t.rows, of)})
	}
	str(0, f.key, "Key of a "+f.object+", which programs find it by", func(o *ipcObject) (string, bool) { return o.key, true })
	str(1, f.owner, "Name of the user who owns a "+f.object, func(o *ipcObject) (string, bool) { return o.owner, o.owner != "" })
	l.addIPCMetric(t, f.perms, f.cluster, 2, pdu.SemInstant, 0, "Permissions of a "+f.object+", octal digits like those of a file",
		func(o *ipcObject) (uint32, bool) { return o.perms(), true })
	return t, g
}

// addIPCMetric adds a metric of each object.
func (l *linux) addIPCMetric(t *ipcTable, name string, cluster, item int, sem pdu.Sem, units pdu.Units, text string, of func(*ipcObject) (uint32, bool)) {
	pmda.Register(l.Agent, pmda.Metric[uint32]{Name: name, ID: pmda.Item(cluster, item), InDom: t.rows.indom,
		Sem: sem, Units: units, Text: text, Values: rowValues(&t.rows, of)})
}

// addIPCTotal adds a metric that sums over all objects.
func (l *linux) addIPCTotal(t *ipcTable, g *pmda.Group, name string, cluster, item int, units pdu.Units, text string, of func(*ipcObject) (uint64, bool)) {
	pmda.Register(l.Agent, pmda.Metric[uint32]{Name: name, ID: pmda.Item(cluster, item), Group: g, Units: units, Text: text,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			if v, ok := t.sum(of); ok && v <= 1<<32-1 {
				return uint32(v), nil
			}
			return 0, pmda.NoValue
		}})
}

// ipcSummand returns the number in a column for a sum.
func ipcSummand(i int) func(*ipcObject) (uint64, bool) {
	return func(o *ipcObject) (uint64, bool) { return o.columns[i], o.known[i] }
}

// ipcCount makes a sum count the objects.
func ipcCount(*ipcObject) (uint64, bool) { return 1, true }

func (l *linux) addSharedMemory() {
	const cluster, total = 64, 56
	t, g := ipcFile{name: "shm", serial: 28, cluster: cluster, object: "shared memory segment", text: "Segments of shared memory, by their IDs", uid: 7,
		key: "ipc.shm.key", owner: "ipc.shm.owner", perms: "ipc.shm.perms"}.add(l)
	l.addIPCMetric(t, "ipc.shm.segsz", cluster, 3, pdu.SemDiscrete, pdu.SpaceByte, "Length of a shared memory segment", ipcColumn(3))
	l.addIPCMetric(t, "ipc.shm.creator_pid", cluster, 6, pdu.SemDiscrete, 0, "Process that made a shared memory segment", ipcColumn(4))
	l.addIPCMetric(t, "ipc.shm.last_access_pid", cluster, 7, pdu.SemInstant, 0, "Process that attached or detached a shared memory segment last", ipcColumn(5))
	l.addIPCMetric(t, "ipc.shm.nattch", cluster, 4, pdu.SemInstant, 0, "Processes that a shared memory segment is attached to", ipcColumn(6))
	pmda.Register(l.Agent, pmda.Metric[string]{Name: "ipc.shm.status", ID: pmda.Item(cluster, 5), InDom: t.rows.indom,
		Text:   "State of a shared memory segment: dest if it goes with the last process, locked if it stays in memory",
		Values: rowValues(&t.rows, shmStatus)})
	page := uint64(os.Getpagesize())
	l.addIPCTotal(t, g, "ipc.shm.tot", total, 0, pdu.SpaceByte, "Length of all shared memory segments, in whole pages",
		func(o *ipcObject) (uint64, bool) {
			return o.columns[3]/page*page + min(o.columns[3]%page, 1)*page, o.known[3]
		})
	l.addIPCTotal(t, g, "ipc.shm.rss", total, 1, pdu.SpaceByte, "Shared memory that is in main memory", ipcSummand(14))
	l.addIPCTotal(t, g, "ipc.shm.swp", total, 2, pdu.SpaceByte, "Shared memory that is swapped out", ipcSummand(15))
	l.addIPCTotal(t, g, "ipc.shm.used_ids", total, 3, 0, "Shared memory segments that there are", ipcCount)
	none := func(*ipcObject) (uint64, bool) { return 0, true }
	l.addIPCTotal(t, g, "ipc.shm.swap_attempts", total, 4, 0, "Attempts to swap shared memory, which kernels since 2.4 do not count", none)
	l.addIPCTotal(t, g, "ipc.shm.swap_successes", total, 5, 0, "Successes in swapping shared memory, which kernels since 2.4 do not count", none)
}

// shmStatus returns the state of a segment according to its flags.
func shmStatus(o *ipcObject) (string, bool) {
	const dest, locked = 0o1000, 0o2000
	return [...]string{"", "dest", "locked", "dest locked"}[o.mode&(dest|locked)/dest], true
}

func (l *linux) addMessageQueues() {
	const cluster, total = 65, 62
	t, g := ipcFile{name: "msg", serial: 29, cluster: cluster, object: "message queue", text: "Queues of messages, by their IDs", uid: 7,
		key: "ipc.msg.key", owner: "ipc.msg.owner", perms: "ipc.msg.perms"}.add(l)
	l.addIPCMetric(t, "ipc.msg.msgsz", cluster, 3, pdu.SemDiscrete, pdu.SpaceByte, "Length of the messages in a queue", ipcColumn(3))
	l.addIPCMetric(t, "ipc.msg.messages", cluster, 4, pdu.SemInstant, 0, "Messages in a queue", ipcColumn(4))
	l.addIPCMetric(t, "ipc.msg.last_send_pid", cluster, 5, pdu.SemInstant, pdu.SpaceByte, "Process that sent to a queue last", ipcColumn(5))
	l.addIPCMetric(t, "ipc.msg.last_recv_pid", cluster, 6, pdu.SemInstant, 0, "Process that received from a queue last", ipcColumn(6))
	l.addIPCTotal(t, g, "ipc.msg.used_queues", total, 0, 0, "Queues of messages that there are", ipcCount)
	l.addIPCTotal(t, g, "ipc.msg.tot_msg", total, 1, 0, "Messages in all queues", ipcSummand(4))
	l.addIPCTotal(t, g, "ipc.msg.tot_bytes", total, 2, pdu.SpaceByte, "Length of the messages in all queues", ipcSummand(3))
}

func (l *linux) addSemaphores() {
	const cluster, total = 66, 61
	t, g := ipcFile{name: "sem", serial: 30, cluster: cluster, object: "semaphore set", text: "Sets of semaphores, by their IDs", uid: 4,
		key: "ipc.sem.key", owner: "ipc.sem.owner", perms: "ipc.sem.perms"}.add(l)
	l.addIPCMetric(t, "ipc.sem.nsems", cluster, 3, pdu.SemInstant, 0, "Semaphores in a set", ipcColumn(3))
	l.addIPCTotal(t, g, "ipc.sem.used_sem", total, 0, 0, "Sets of semaphores that there are", ipcCount)
	l.addIPCTotal(t, g, "ipc.sem.tot_sem", total, 1, 0, "Semaphores in all sets", ipcSummand(3))
}
