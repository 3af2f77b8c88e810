package sample

import (
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

const (
	itemScrambleVersion = 120
	itemScrambleBin     = 121
)

// An lcg is a linear congruential generator of numbers below lcgRange.
type lcg uint32

const lcgRange = 1 << 31

func (g *lcg) next() uint32 {
	*g = (1103515245**g + 12345) % lcgRange
	return uint32(*g)
}

// scramble is an instance domain that changes the order of its instances with every fetch. Some
// instances are missing.
type scramble struct {
	indom   *pmda.InDom
	bins    []pdu.Instance // all of them
	version int64          // of the order, which it determines
}

func (s *sample) registerScramble() {
	c := &s.dynamic.scramble
	c.bins = s.indoms.bin.Instances()
	c.indom = s.attach(9, "scrambled bin", c.bins)
	add(s, itemScrambleVersion, pmda.Metric[int64]{Name: "scramble.version", Value: variable(&c.version)})
	storeBlock(s, itemScrambleVersion, func(int64) {
		c.version = 0
		_, _ = c.indom.SetInstances(c.bins...)
	})
	add(s, itemScrambleBin, pmda.Metric[int32]{Name: "scramble.bin", InDom: c.indom, Value: failing[int32](pmda.NoValue)}) // see writeScramble
}

// writeScramble writes the bins in the order of the next version.
func (s *sample) writeScramble(r *pmda.Request, w *pdu.ResultWriter) {
	c := &s.dynamic.scramble
	rule := r.Profile.For(c.indom.ID())
	for _, i := range c.next() {
		if rule.Includes(i.ID) {
			w.Int32(i.ID, s.bins[binIndex(i.ID)])
		}
	}
}

// next sets and returns the instances of the next version.
func (c *scramble) next() []pdu.Instance {
	random := lcg(uint32(c.version<<10+13) % lcgRange)
	c.version++
	places := make([]pdu.Instance, len(c.bins))
	for _, bin := range c.bins {
		if random.next()%100 < 33 {
			continue
		}
		at := random.next() % uint32(len(places))
		for places[at].Name != "" {
			at = random.next() % uint32(len(places))
		}
		places[at] = bin
	}
	list := places[:0]
	for _, bin := range places {
		if bin.Name != "" {
			list = append(list, bin)
		}
	}
	_, _ = c.indom.SetInstances(list...)
	return list
}
