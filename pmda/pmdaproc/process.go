package pmdaproc

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"strconv"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A process is a process, or a thread in a list with threads.
type process struct {
	id     pdu.InstID
	inode  uint64 // of its directory; differs when the ID is reused; 0 if unknown
	listed uint32 // last reading of the table that listed it
	label  label
	files  [fileKinds]content
}

// A content is the parsed contents of a file of a process, from this reading of the table or an
// earlier one. Its memory is reused.
type content struct {
	reading uint32
	err     error
	value   any    // a *T of the file's kind
	parsed  uint64 // hash of the text parsed into value, or 0
}

// textSeed differs in each run, so that an attacker cannot construct texts with the same hash.
var textSeed = maphash.MakeSeed()

// isNew reports whether text differs from the last text of the file, so that it must be parsed
// again. Most processes sleep most of the time, so their files rarely change.
func (c *content) isNew(text []byte) bool {
	hash := maphash.Bytes(textSeed, text) | 1
	if hash == c.parsed {
		return false
	}
	c.parsed = hash
	return true
}

// A table is a list of processes and the contents of their files. A reading serves one request: the
// list is that of its client, and files are read again.
type table struct {
	p          *proc
	hot        map[pid]*hotProcess // the hot processes, in a table of hot processes
	group      *pmda.Group
	indom      *pmda.InDom
	prefix     string // of the metrics
	isHot      bool   // the clusters are those of hotproc
	known      map[pid]*process
	list       []*process // of the reading, by ascending ID
	n          uint32     // the number of the reading
	view       *view      // of the reading
	files      reader
	found      []entry // by the last listing, reused
	tids       []entry
	unlabelled uint32 // the reading that found no security labels
	runq       runQueue
	autogroups struct {
		reading uint32
		on      bool
	}
}

// A pid is the ID of a process or thread.
type pid = pdu.InstID

// An entry is a directory named by a process.
type entry struct {
	id    pid
	inode uint64
}

const (
	hotPrefix = "hotproc."
	allPrefix = "proc."
)

// addTables makes the two tables.
func (p *proc) addTables() {
	p.processes = p.newTable(allPrefix, 9, "process", "Processes, by their IDs and names",
		"The ID of an instance is that of the process, or of the thread where those are\nlisted too: see proc.control.perclient.threads. Its name is the ID in at least\nsix digits, and the name that the process was started with.")
	p.hot = p.newTable(hotPrefix, 39, "hot process", "Processes that meet the condition of hotproc.control.config",
		"IDs and names are those of the instance domain of all processes.")
	p.hot.isHot = true
}

// bareTable makes a table without an instance domain.
func (p *proc) bareTable() *table {
	t := &table{p: p, known: map[pid]*process{}}
	t.files.dir.path = p.path("proc")
	t.files.kept.open = &p.keptOpen
	return t
}

// newTable makes a table with its instance domain.
func (p *proc) newTable(prefix string, serial int, name, text, help string) *table {
	t := p.bareTable()
	t.prefix = prefix
	t.group = p.Group(t.refresh)
	t.indom = &pmda.InDom{Serial: pmda.InDomSerial(serial), Name: name, Text: text, Help: help, Group: t.group, InstanceLabels: processLabels}
	p.Attach(t.indom)
	t.indom.SetInstances(placeholder)
	return t
}

// placeholder is the only instance of a domain before a client asks for its instances. The
// framework calls Values only for domains with instances. Clients do not see it because they have
// their own list.
var placeholder = pdu.Instance{ID: 0, Name: "placeholder"}

// processLabels returns the labels of a process.
func processLabels(i pdu.Instance) string {
	return `{"pid":` + strconv.Itoa(int(i.ID)) + "}"
}

// refresh starts a reading and lists the processes that the client may see.
func (t *table) refresh(ctx context.Context, _ *pmda.Request) error {
	v := viewOf(ctx)
	if v.instances && !v.access {
		return pdu.ErrPermission
	}
	t.startReading(v)
	if t.isHot {
		t.hot = t.p.hotList.evaluated().hot
	}
	if err := t.find(v); err != nil {
		t.list = t.list[:0]
		return err
	}
	t.setList()
	if v.instances {
		return t.setInstances()
	}
	if len(t.indom.Instances()) == 0 {
		_, err := t.indom.SetInstances(placeholder)
		return err
	}
	return nil
}

// startReading starts a reading for a view.
func (t *table) startReading(v *view) {
	t.n++
	t.view = v
	t.files.threads, t.files.foreign = v.threads, v.switches
	t.files.trim()
	if t.n == 1 {
		t.files.kept.limit = t.files.dir.mostKept()
	}
	t.files.kept.startReading()
	t.p.users.expire(t.files.kept.now)
}

// find sets found to the processes that the client of a view may see.
func (t *table) find(v *view) error {
	t.found = t.found[:0]
	var err error
	switch {
	case t.isHot:
		t.found, err = t.files.processes(t.found)
		t.found = slices.DeleteFunc(t.found, func(e entry) bool {
			h := t.hot[e.id]
			return h == nil || h.inode != 0 && h.inode != e.inode
		})
	default:
		t.found, err = t.files.processes(t.found)
	}
	if err == nil && v.threads {
		t.addThreads()
	}
	if err == nil && !t.isHot && v.ofGroup() {
		err = t.keepGroup(v)
	}
	return err
}

// keepGroup removes processes that are not in the control group of a view, because a client may
// name a forged file.
func (t *table) keepGroup(v *view) error {
	if v.membersErr != nil {
		return v.membersErr
	}
	t.found = slices.DeleteFunc(t.found, func(e entry) bool {
		_, is := slices.BinarySearchFunc(v.members, e, byID)
		return !is
	})
	return nil
}

// addThreads adds the threads of the processes found.
func (t *table) addThreads() {
	for _, e := range t.found[:len(t.found):len(t.found)] {
		t.tids = t.files.threadsOf(t.tids[:0], e.id)
		for _, tid := range t.tids {
			if tid.id != e.id {
				t.found = append(t.found, tid)
			}
		}
	}
}

// setList makes the list from found.
func (t *table) setList() {
	if !slices.IsSortedFunc(t.found, byID) {
		slices.SortFunc(t.found, byID)
	}
	t.list = t.list[:0]
	for _, e := range t.found {
		p := t.known[e.id]
		if p == nil || e.inode != p.inode && e.inode != 0 && p.inode != 0 {
			t.files.kept.drop(e.id)
			p = &process{id: e.id, inode: e.inode}
			t.known[e.id] = p
		}
		if p.listed != t.n { // a file may list it twice
			p.listed = t.n
			t.list = append(t.list, p)
		}
	}
	t.dropUnlisted()
}

func byID(a, b entry) int { return cmp.Compare(a.id, b.id) }

// keptReadings is the number of readings until an unlisted process is removed. It may be listed for
// another client.
const keptReadings = 64

// dropUnlisted removes processes that have not been listed for some time, if the table has become
// large.
func (t *table) dropUnlisted() {
	if len(t.known) <= len(t.list)+len(t.list)/8+1024 && t.n%keptReadings != 0 {
		return
	}
	for id, p := range t.known {
		if t.n-p.listed >= keptReadings {
			t.files.kept.drop(id)
			delete(t.known, id)
		}
	}
}

// setInstances gives the list to the instance domain.
func (t *table) setInstances() error {
	list := make([]pdu.Instance, len(t.list))
	for i, p := range t.list {
		list[i] = pdu.Instance{ID: p.id, Name: t.names(p).name}
	}
	if slices.Equal(list, t.indom.Instances()) {
		return nil
	}
	_, err := t.indom.SetInstances(list...)
	return err
}

// parsePID parses the ID of a process.
func parsePID(name []byte) (id pid, ok bool) {
	if len(name) == 0 || len(name) > 10 || name[0] == '0' {
		return 0, false
	}
	var v uint64
	for _, c := range name {
		if !scan.IsDigit(c) {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return pid(v), v <= 1<<31-1
}
