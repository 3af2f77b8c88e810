package sample

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// inDoms are the instance domains of the metrics in this file and its neighbours.
type inDoms struct {
	colour, bin, mirage, family, hordes, dodgey, many *pmda.InDom
}

func (s *sample) attachInDoms() {
	numbered := func(format string, from, to, step int) (list []pdu.Instance) {
		for i := from; i <= to; i += step {
			list = append(list, pdu.Instance{ID: pdu.InstID(i), Name: fmt.Sprintf(format, i)})
		}
		return list
	}
	named := func(names ...string) (list []pdu.Instance) {
		for i, n := range names {
			list = append(list, pdu.Instance{ID: pdu.InstID(i), Name: n})
		}
		return list
	}
	d := &s.indoms
	d.colour = s.attach(1, "colour", named("red", "green", "blue"))
	d.bin = s.attach(2, "bin", numbered("bin-%d", 100, 900, 100))
	d.mirage = s.attach(3, "mirage", numbered("m-%02d", 0, 0, 1))
	d.family = s.attach(4, "family", named("colleen", "terry", "emma", "cathy", "fat bald bastard"))
	d.hordes = s.attach(5, "hordes", numbered("%d", 0, hordes-1, 1))
	d.dodgey = s.attach(6, "dodgey", numbered("d%d", 1, dodgeyInstances, 1))
	d.many = s.attach(8, "many", numbered("i-%d", 0, firstMany-1, 1))
}

const (
	hordes          = 500
	dodgeyInstances = 5
	firstMany       = 5
	mostMany        = 999999
)

// attach adds an instance domain, with the texts of its serial.
func (s *sample) attach(serial int, name string, list []pdu.Instance) *pmda.InDom {
	t := texts[strconv.Itoa(serial)]
	d := &pmda.InDom{Serial: pmda.InDomSerial(serial), Name: name, Text: t.oneLine, Help: t.help}
	d.SetInstances(list...)
	_ = s.agent.Attach(d) // the agent remembers the error
	return d
}

// shortName returns the part of a name that identifies an instance. The rest is ignored, as by
// PCP's agent, where "fat chance" is also "fat bald bastard".
func shortName(name string) string {
	short, _, _ := strings.Cut(name, " ")
	return short
}

// refreshInDom changes the instances of a domain before a request for them.
func (s *sample) refreshInDom(d pdu.InDom) {
	switch d {
	case s.indoms.mirage.ID():
		s.refreshMirage()
	case s.dynamic.file.indom.ID():
		s.dynamic.file.refresh()
	}
}
