package pmdammv

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync/atomic"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// An entry is a file of the directory, or a Registry, with its metadata. It does not change after
// it is read.
type entry struct {
	name string
	src  source // nil if it could not be opened
	file *mmv.File
	err  error // why file is nil
	head head  // of the source before it was read

	counted bool // by the directory

	items []item // by number

	tree   atomic.Pointer[fileTree] // nil until it is used
	failed atomic.Bool              // it changed while it was read: it must be read again
}

// An item names the metric of the file that has the item number.
type item struct {
	metric   uint16 // its index plus 1; 0 without a metric, or if its name is invalid
	singular bool   // the metric has one value, whose place is at
	at       mmv.Place
}

// A head is the beginning of a source. The head of a complete file does not change.
type head struct {
	n     int
	bytes [headLen]byte
}

const headLen = 40 // the header of an MMV file

var errDead = errors.New("its process has ended")

// read reads the source once.
func (e *entry) read() {
	e.head.read(e.src)
	e.file, e.err = mmv.Read(e.src)
	if e.err != nil {
		e.file = nil
		var now head
		now.read(e.src)
		e.failed.Store(now != e.head || e.inFlux() && now.complete())
		return
	}
	if e.dead() {
		e.file, e.err = nil, errDead
		return
	}
	e.index()
}

// read reads the beginning of a source, as far as possible.
func (h *head) read(src source) {
	h.n, _ = src.ReadAt(h.bytes[:min(int64(headLen), max(src.Size(), 0))], 0)
}

// complete reports whether the two generations are the same, so that the file is not in flux.
func (h *head) complete() bool {
	g := binary.NativeEndian.Uint64(h.bytes[8:])
	return h.n == headLen && g != 0 && g == binary.NativeEndian.Uint64(h.bytes[16:])
}

// dead reports whether the file depends on a process that has ended.
func (e *entry) dead() bool { return e.file.PID != 0 && !alive(e.file.PID) }

// inFlux reports whether the file was being written when it was read.
func (e *entry) inFlux() bool { return errors.Is(e.err, mmv.ErrInFlux) }

// changed reports whether the entry must be read again.
func (e *entry) changed() bool {
	switch {
	case e.src == nil:
		return false // until the directory changes
	case e.failed.Load() || e.src.replaced():
		return true
	case e.file != nil:
		changed, err := e.file.Changed()
		return changed || err != nil || e.dead() || e.file.Flaws > 0 && e.resized()
	}
	var now head
	now.read(e.src)
	return now != e.head || e.resized()
}

// resized reports whether the entry is a file that has another size now.
func (e *entry) resized() bool {
	f, ok := e.src.(*fileSource)
	return ok && f.resized()
}

// index fills items.
func (e *entry) index() {
	if !e.validPrefix() {
		return
	}
	most := -1
	for i := range e.file.Metrics {
		most = max(most, e.file.Metrics[i].Item)
	}
	e.items = make([]item, most+1)
	for i := range e.file.Metrics {
		m := &e.file.Metrics[i]
		if !validName(m.Name) {
			continue
		}
		it := item{metric: uint16(i) + 1}
		if m.InDom == 0 && len(m.Instances) > 0 {
			it.singular, it.at = true, m.Place(0)
		}
		e.items[m.Item] = it
	}
}

// metric returns the metric of an item, or nil.
func (e *entry) metric(item int) *mmv.FileMetric {
	if item >= len(e.items) || e.items[item].metric == 0 {
		return nil
	}
	return &e.file.Metrics[e.items[item].metric-1]
}

// prefix returns the beginning of the metrics' names, after the agent's name.
func (e *entry) prefix() string {
	if e.file.NoPrefix {
		return ""
	}
	return e.name + "."
}

// validPrefix reports whether names of metrics can begin with prefix.
func (e *entry) validPrefix() bool { return e.prefix() == "" || validName(e.name) }

// validName reports whether a name consists of letters, digits, underscores and dots, and its
// components are not empty.
func validName(name string) bool {
	dot := true
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '.' && dot:
			return false
		case c == '.' || c == '_' || scan.IsAlnum(c):
		default:
			return false
		}
		dot = c == '.'
	}
	return !dot
}

// nameChars describes valid names, for messages.
const nameChars = "letters, digits, underscores and dots between them"

// log logs the problems of the entry in one line.
func (e *entry) log(log *slog.Logger, where string) {
	if e.err != nil {
		if !errors.Is(e.err, fs.ErrNotExist) { // otherwise it was removed meanwhile
			log.Warn("MMV file is not served", slog.String("file", where), slog.Any("err", e.err))
		}
		return
	}
	var first error
	n := e.file.Flaws
	switch {
	case !e.validPrefix():
		first = fmt.Errorf("names of its metrics begin with that of the file, and %q has something else than %s: rename the file, or set its flag NOPREFIX", e.name, nameChars)
	case len(e.file.Problems) > 0:
		first = e.file.Problems[0]
	}
	for i := range e.file.Metrics {
		m := &e.file.Metrics[i]
		if e.metric(m.Item) == m {
			continue
		}
		if n++; first == nil {
			first = fmt.Errorf("the name of metric %q has something else than %s", e.prefix()+m.Name, nameChars)
		}
	}
	for i := range e.file.Labels {
		text := e.file.Labels[i].JSON
		_, err := pdu.ParseLabels(pdu.LabelItem, text, false)
		if err = cmp.Or(err, pdu.CheckLabelNames(text)); err == nil {
			continue
		}
		if n++; first == nil {
			first = err
		}
	}
	if n > 0 {
		log.Warn("MMV file is not served as a whole", slog.String("file", where), slog.Any("err", first), slog.Int("flaws", n))
	}
}
