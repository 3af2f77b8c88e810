package pmdalinux

import (
	"bytes"
	"math"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// serialMetrics are the metrics of serial ports, with the words before their numbers.
var serialMetrics = [...]struct {
	key, name string
	item      int
	sem       pdu.Sem
	text      string
}{
	serialSent:     {"tx", "tty.serial.tx", 0, pdu.SemCounter, "Characters that each serial port has sent"},
	serialReceived: {"rx", "tty.serial.rx", 1, pdu.SemCounter, "Characters that each serial port has received"},
	serialFrame:    {"fe", "tty.serial.frame", 2, pdu.SemCounter, "Characters received by each serial port that had no stop bit where it should be"},
	serialParity:   {"pe", "tty.serial.parity", 3, pdu.SemCounter, "Characters received by each serial port that had the wrong parity"},
	serialBreak:    {"brk", "tty.serial.brk", 4, pdu.SemCounter, "Breaks that each serial port has received"},
	serialOverrun:  {"oe", "tty.serial.overrun", 5, pdu.SemCounter, "Times that each serial port has received more than was fetched from it"},
	serialIRQ:      {"irq", "tty.serial.irq", 6, pdu.SemDiscrete, "Number of each serial port's interrupt"},
}

const (
	serialSent = iota
	serialReceived
	serialFrame
	serialParity
	serialBreak
	serialOverrun
	serialIRQ
)

// A serialPort is a line of /proc/tty/driver/serial.
type serialPort struct {
	v     [len(serialMetrics)]uint32
	known [len(serialMetrics)]bool
}

// addSerialPorts adds the metrics of /proc/tty/driver/serial.
func (l *linux) addSerialPorts() {
	ports := &instances[serialPort]{indom: &pmda.InDom{Serial: pmda.InDomSerial(35), Name: "serial port",
		Text: "Serial ports of PCs, by number: that of ttyS0 is 0"}}
	ports.indom.Group = l.restrictedFileGroup("proc/tty/driver/serial", func(text []byte) error {
		ports.Begin()
		for line := range procfile.Lines(text) {
			number, rest, _ := bytes.Cut(line, []byte(":"))
			kind, rest := procfile.CutField(rest)
			if _, ok := procfile.ParseUint32(number); ok && bytes.HasPrefix(kind, []byte("uart:")) && string(kind) != "uart:unknown" {
				ports.Row(number).parse(rest)
			}
		}
		return ports.End()
	})
	l.Attach(ports.indom)
	for i, m := range serialMetrics {
		pmda.Register(l.Agent, pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(74, m.item), InDom: ports.indom, Sem: m.sem, Text: m.text,
			Values: restrictedValues(l, rowValues(ports, func(p *serialPort) (uint32, bool) { return p.v[i], p.known[i] })),
		})
	}
}

// parse parses fields such as "port:000003F8 irq:4 tx:218 rx:0 oe:2 RTS|CTS". The kernel omits
// errors with a count of zero. A process without the right to see counts gets none.
func (p *serialPort) parse(line []byte) {
	*p = serialPort{}
	damaged := false
	for field, line := procfile.CutField(line); len(field) > 0; field, line = procfile.CutField(line) {
		key, number, _ := bytes.Cut(field, []byte(":"))
		for i, m := range serialMetrics {
			if string(key) == m.key {
				p.v[i], p.known[i] = parseWrapped(number)
				damaged = damaged || !p.known[i]
			}
		}
	}
	if p.known[serialIRQ] && p.v[serialIRQ] > math.MaxInt32 {
		p.known[serialIRQ] = false
	}
	for i := serialFrame; i <= serialOverrun && p.known[serialSent] && p.known[serialReceived] && !damaged; i++ {
		p.known[i] = true
	}
}

// parseWrapped parses a 32-bit number that the kernel prints as a signed one.
func parseWrapped(field []byte) (uint32, bool) {
	digits, minus := bytes.CutPrefix(field, []byte("-"))
	v, ok := procfile.ParseUint32(digits)
	if minus {
		return -v, ok && v <= 1<<31
	}
	return v, ok
}
