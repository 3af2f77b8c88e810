package fleetview

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi"
)

// A Snapshot is the values of a tick. It is immutable.
type Snapshot struct {
	Time    time.Time
	missed  int
	columns []Column
	hosts   []host
	counts  map[pmapi.HostState]int
}

// A host is a row of a tick.
type host struct {
	name    string
	status  pmapi.HostStatus
	missing error
	values  []float64 // NaN where there is none
}

// NewSnapshot copies the values of a tick.
func NewSnapshot(tick *pmapi.FleetTick[Items], columns []Column) *Snapshot {
	s := &Snapshot{Time: tick.Time, missed: tick.Missed, columns: columns, counts: tick.Counts(), hosts: make([]host, len(tick.Rows))}
	values := make([]float64, len(tick.Rows)*len(columns))
	for i := range tick.Rows {
		r := &tick.Rows[i]
		h := host{name: r.Host, status: r.Status, values: values[:len(columns)]}
		values = values[len(columns):]
		if r.Status.Missing > 0 {
			h.missing = r.Err()
		}
		for j := range h.values {
			h.values[j] = math.NaN()
			if r.Status.State == pmapi.HostUp {
				if v, err := r.Items[j].Value(); err == nil {
					h.values[j] = v
				}
			}
		}
		s.hosts[i] = h
	}
	return s
}

// An Order decides which hosts come first: those with the greatest values of a column, or with the
// least if it is reversed.
type Order struct {
	Column  int
	Reverse bool
}

// top returns the first n hosts that are up. Hosts without a value come last.
func (s *Snapshot) top(n int, o Order) []*host {
	var ranked []*host
	for i := range s.hosts {
		if h := &s.hosts[i]; h.status.State == pmapi.HostUp {
			ranked = append(ranked, h)
		}
	}
	slices.SortStableFunc(ranked, func(a, b *host) int {
		v, w := a.values[o.Column], b.values[o.Column]
		if o.Reverse && !math.IsNaN(v) && !math.IsNaN(w) {
			v, w = w, v
		}
		return cmp.Compare(w, v) // NaN is less than all else
	})
	return ranked[:min(n, len(ranked))]
}

// troubles returns the hosts that are not up, the latest first, and then the hosts without some
// value.
func (s *Snapshot) troubles() (list []*host) {
	for i := range s.hosts {
		if h := &s.hosts[i]; h.status.State != pmapi.HostUp || h.missing != nil {
			list = append(list, h)
		}
	}
	slices.SortStableFunc(list, func(a, b *host) int {
		aUp, bUp := a.status.State == pmapi.HostUp, b.status.State == pmapi.HostUp
		switch {
		case aUp && bUp:
			return 0
		case aUp:
			return 1
		case bUp:
			return -1
		}
		return b.status.Since.Compare(a.status.Since)
	})
	return list
}

// A Layout limits how much is shown.
type Layout struct {
	Hosts  int  // how many hosts there are, those with troubles aside
	Width  int  // of a line; 0 for no limit
	Height int  // lines in all; 0 for as many hosts with troubles as others
	Colour bool // use control sequences of terminals
}

const (
	valueWidth   = 10
	headerLines  = 3
	longestHost  = 40
	shortestHost = 12
)

// Lines returns the lines of a snapshot.
func (s *Snapshot) Lines(l Layout, o Order) [][]byte {
	troubles := s.troubles()
	n, room := l.Hosts, l.Hosts // for hosts, and for troubles
	if l.Height > 0 {
		lines := max(l.Height-headerLines, 0)
		if room = 0; len(troubles) > 0 {
			room = min(len(troubles)+1, lines/3) // with an empty line
		}
		n = min(n, lines-room)
		room = max(lines-n-1, 0)
	}
	top := s.top(n, o)
	width := shortestHost
	for _, h := range slices.Concat(top, troubles[:min(room, len(troubles))]) {
		width = max(width, min(utf8.RuneCountInString(terminal.EscapeName(h.name)), longestHost))
	}
	lines := [][]byte{l.line("", s.title()), nil, l.line("\x1b[1m", s.header(width, o))}
	for _, h := range top {
		text := pad(h.name, width)
		for _, v := range h.values {
			text += formatValue(v)
		}
		lines = append(lines, l.line("", text))
	}
	if len(troubles) == 0 || room == 0 {
		return lines
	}
	lines = append(lines, nil)
	for i, h := range troubles {
		if i == room-1 && len(troubles) > room {
			lines = append(lines, l.line("", fmt.Sprintf("and %d more", len(troubles)-i)))
			break
		}
		lines = append(lines, l.line("\x1b[31m", pad(h.name, width)+"  "+h.trouble()))
	}
	return lines
}

// line returns a text in a colour, cut to the width of a line.
func (l Layout) line(colour, text string) []byte {
	if l.Width > 0 && utf8.RuneCountInString(text) > l.Width {
		text = string([]rune(text)[:l.Width])
	}
	if l.Colour && colour != "" {
		text = colour + text + "\x1b[0m"
	}
	return []byte(text)
}

// title returns the number of hosts in each state.
func (s *Snapshot) title() string {
	var states []string
	for state := pmapi.HostConnecting; state <= pmapi.HostEnded; state++ {
		if n := s.counts[state]; n > 0 {
			states = append(states, fmt.Sprintf("%d %v", n, state))
		}
	}
	text := fmt.Sprintf("%s  %d hosts: %s", s.Time.Format(time.TimeOnly), len(s.hosts), strings.Join(states, ", "))
	if s.missed > 0 {
		text += fmt.Sprintf("; %d samples missed", s.missed)
	}
	return text
}

// header returns the labels, with a star at the column that sorts the hosts.
func (s *Snapshot) header(width int, o Order) string {
	text := pad("host", width)
	for i, c := range s.columns {
		label := c.Label
		if i == o.Column {
			label = "*" + label
		}
		text += fmt.Sprintf(" %*s", valueWidth, cut(label, valueWidth))
	}
	return text
}

// trouble describes the problem of a host.
func (h *host) trouble() string {
	if h.status.State == pmapi.HostUp {
		return terminal.EscapeName(cause(h.missing))
	}
	text := h.status.State.String() + " since " + h.status.Since.Format(time.TimeOnly)
	if err := h.status.Err; err != nil {
		text += ": " + cause(err)
	}
	return terminal.EscapeName(text)
}

// cause returns the text of an error, or of several joined errors, without the operation and the
// host.
func cause(err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []string
		for _, err := range joined.Unwrap() {
			all = append(all, cause(err))
		}
		return strings.Join(all, "; ")
	}
	op, ok := err.(*pmapi.OpError)
	if !ok {
		return err.Error()
	}
	text := op.Err.Error()
	if derived, ok := errors.AsType[*pmapi.DerivedError](op.Err); ok {
		text = derived.Message // the expression is that of the user
	}
	if op.Metric != "" {
		text = op.Metric + ": " + text
	}
	return text
}

// pad pads a name to the width of a column.
func pad(name string, width int) string {
	name = cut(terminal.EscapeName(name), width)
	return name + strings.Repeat(" ", width-utf8.RuneCountInString(name))
}

// cut returns at most so many characters of a text.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "~"
	}
	return text
}

// formatValue formats a value for its column.
func formatValue(v float64) string {
	text := "?"
	switch {
	case math.IsNaN(v):
	case math.Abs(v) < 1e6:
		text = strconv.FormatFloat(v, 'f', 2, 64)
	default:
		text = strconv.FormatFloat(v, 'g', 5, 64)
	}
	return fmt.Sprintf(" %*s", valueWidth, text)
}
