package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A generator makes rules about what is in an archive, most of them right.
type generator struct {
	*rand.Rand
	metrics []archive.Metric
	indoms  []*archive.InDom
	texts   []archive.TextRecord
	labels  []*archive.Labels
	b       strings.Builder
	star    bool // a star stands for a serial number, after which PCP's tool takes NULL for one, too
	v3      bool
}

func newGenerator(seed uint64, meta *archive.Metadata) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	for m := range meta.Metrics() {
		if len(m.Names) > 0 {
			g.metrics = append(g.metrics, m)
		}
	}
	for d := range meta.InDoms() {
		g.indoms = append(g.indoms, d)
	}
	for t := range meta.Texts() {
		g.texts = append(g.texts, t)
	}
	for l := range meta.AllLabels() {
		g.labels = append(g.labels, l)
	}
	return g
}

// words adds words, with a newline here and there.
func (g *generator) words(text string) {
	for word := range strings.FieldsSeq(text) {
		g.word(word)
	}
}

// word adds one word, which may have blanks.
func (g *generator) word(word string) {
	g.b.WriteString(word)
	g.b.WriteByte(" \n"[max(0, g.IntN(8)-6)])
}

func (g *generator) wordf(format string, args ...any) { g.words(fmt.Sprintf(format, args...)) }

// one reports true once in n times.
func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

// rules are a file of rules.
func (g *generator) rules() string {
	g.b.Reset()
	g.star = false
	for range 1 + g.IntN(4) {
		switch g.IntN(9) {
		case 0:
			g.global()
		case 1, 2:
			g.indomRule()
		case 3, 4, 5:
			g.metricRule()
		case 6:
			g.textRule()
		default:
			g.labelRule()
		}
	}
	return g.b.String()
}

func (g *generator) global() {
	g.words("global {")
	for range 1 + g.IntN(2) {
		if g.v3 && g.one(3) {
			g.words(pick(g, "zoneinfo -> \":Etc/UTC\"", "features -> bits(31)", "features -> 0"))
			continue
		}
		g.words(pick(g, "hostname -> new.host.org", "tz -> \"AEST-10\"", "timezone -> \"UTC\"", "time -> 0.25", "time -> -0.5", "time -> 0"))
	}
	g.words("}")
}

func (g *generator) pmid(id pdu.PMID) string {
	switch g.IntN(6) {
	case 0:
		return fmt.Sprintf("%d.*.*", id.Domain())
	case 1:
		return fmt.Sprintf("%d.%d.*", id.Domain(), id.Cluster())
	}
	return id.String()
}

func (g *generator) newPMID() string {
	return pick(g, "%d.*.*", "%d.7.*", "1.*.*") // the domain may stand in it
}

func (g *generator) indomRule() {
	d := pick(g, g.indoms...)
	g.wordf("indom %v {", d.ID)
	all := d.All()
	for range 1 + g.IntN(3) {
		if len(all) < 4 { // PCP's tool loses metadata that comes after a domain of which all instances are deleted
			continue
		}
		i := pick(g, all...)
		switch g.IntN(7) {
		case 0:
			g.wordf("inst %d -> %d", i.ID, g.IntN(2000))
		case 1:
			g.wordf("inst %d -> delete", i.ID)
		case 2, 3:
			g.words("iname")
			g.word(strconv.Quote(pick(g, i.Name, strings.Fields(i.Name + " x")[0])))
			g.words("->")
			g.word(pick(g, "\"new name\"", "delete", "\"renamed\"", "DELETE", "\"x\""))
		case 4:
			g.star = true
			g.wordf("indom -> %d.%s", 300+g.IntN(100), pick(g, "*", "17"))
		case 5:
			g.star = true
			g.wordf("indom -> duplicate %d.%s", 300+g.IntN(100), pick(g, "*", "17"))
		default:
			g.wordf("inst %d -> %d", g.IntN(5), g.IntN(9))
		}
	}
	g.words("}")
}

func (g *generator) metricRule() {
	m := pick(g, g.metrics...)
	if g.one(2) {
		g.wordf("metric %s {", m.Names[0])
	} else {
		g.wordf("metric %s {", g.pmid(m.PMID))
	}
	for range 1 + g.IntN(3) {
		g.metricClause(m)
	}
	g.words("}")
}

func (g *generator) metricClause(m archive.Metric) {
	switch g.IntN(11) {
	case 0:
		if g.one(3) {
			g.words("delete")
		}
	case 1:
		format := g.newPMID()
		if strings.Contains(format, "%") {
			format = fmt.Sprintf(format, pick(g, int(m.PMID.Domain()), 1+g.IntN(509)))
		}
		g.words("pmid -> " + format)
	case 2:
		g.wordf("name -> %s", pick(g, "new.name", "if", m.Names[0], "a.b-c", "x"+strconv.Itoa(g.IntN(99))))
	case 3, 4:
		g.wordf("type -> %s", pick(g, "32", "U32", "64", "u64", "float", "DOUBLE"))
	case 5:
		g.wordf("type if %s -> %s", pick(g, m.Type.String(), "32", "u64"), pick(g, "64", "u64", "double"))
	case 6:
		g.wordf("sem -> %s", pick(g, "counter", "INSTANT", "Discrete"))
	case 7:
		g.wordf("units -> %s %s", pick(g, "1,0,0,KBYTE,0,0", "0,1,0,0,SEC,0", "0,0,1,0,0,ONE", "1,-1,0,MBYTE,SEC,0", "0,0,1,0,0,3", "0,0,0,0,0,0"), pick(g, "", "rescale"))
	case 8:
		u := m.Units
		g.wordf("units -> %d,%d,%d,%s,%s,%d rescale", u.DimSpace(), u.DimTime(), u.DimCount(), pick(g, "0", "KBYTE", "MBYTE"), pick(g, "0", "MSEC", "SEC", "HOUR"), g.IntN(3))
	default:
		to := "NULL"
		if g.star || g.one(2) {
			to = pick(g, g.indoms...).ID.String()
		}
		g.words("indom -> " + to)
		g.output(m)
	}
}

func (g *generator) output(m archive.Metric) {
	switch g.IntN(4) {
	case 0:
		g.words("output " + pick(g, "first", "last", "MIN", "max", "sum", "avg"))
	case 1:
		for _, d := range g.indoms {
			if all := d.All(); d.ID == m.InDom && len(all) > 0 {
				i := pick(g, all...)
				g.words("output")
				if g.one(2) {
					g.wordf("inst %d", i.ID)
				} else {
					g.words("iname")
					g.word(strconv.Quote(i.Name))
				}
			}
		}
	}
}

func (g *generator) textRule() {
	if len(g.texts) == 0 {
		return
	}
	t := pick(g, g.texts...)
	if t.Kind&pdu.TextPMID != 0 {
		g.wordf("text metric %s", g.pmid(pdu.PMID(t.Ident)))
	} else {
		g.wordf("text indom %v", pdu.InDom(t.Ident))
	}
	g.words(pick(g, "", "oneline", "help", "*", "help oneline"))
	if g.one(4) {
		g.word(pick(g, "\"of\"", "\"nowhere \\\" to be found\"", "\"s\""))
	}
	g.words("{")
	switch g.IntN(4) {
	case 0:
		g.words("delete")
	case 1, 2:
		g.words("text ->")
		g.word(pick(g, "\"a new text\"", "\"with \\\"quotes\\\" and\na line\"", "\"x\""))
	default:
		if t.Kind&pdu.TextPMID != 0 {
			g.wordf("metric -> %d.*.*", 1+g.IntN(509))
		} else {
			g.wordf("indom -> %v", pick(g, g.indoms...).ID)
		}
	}
	g.words("}")
}

func (g *generator) labelRule() {
	if len(g.labels) == 0 {
		return
	}
	l := pick(g, g.labels...)
	id := pdu.PMID(l.Ident)
	sets := l.Record(g.IntN(l.Len())).Sets
	set := pdu.LabelSet{}
	if len(sets) > 0 {
		set = pick(g, sets...)
	}
	to := ""
	switch l.Class {
	case pdu.LabelContext:
		g.words("label context")
	case pdu.LabelDomain:
		g.wordf("label domain %d", l.Ident)
		to = fmt.Sprintf("domain -> %d", 1+g.IntN(509))
	case pdu.LabelCluster:
		g.wordf("label cluster %d.%s", id.Domain(), pick(g, "*", strconv.Itoa(int(id.Cluster()))))
		to = fmt.Sprintf("cluster -> %d.%s", 1+g.IntN(509), pick(g, "*", "9"))
	case pdu.LabelItem:
		g.wordf("label item %s", g.pmid(id))
		to = fmt.Sprintf("item -> %d.*.*", 1+g.IntN(509))
	case pdu.LabelInDom:
		g.wordf("label indom %v", pdu.InDom(l.Ident))
		to = "indom -> " + pick(g, g.indoms...).ID.String()
	default:
		g.wordf("label instances %v", pdu.InDom(l.Ident))
		g.words(pick(g, "*", "*", strconv.Itoa(int(set.Inst)), "3"))
		to = "instances -> " + pick(g, g.indoms...).ID.String()
	}
	if g.one(2) {
		name, value := "nosuch", "false" // of a number PCP's tool has freed the text
		for label := range set.All() {
			if g.one(2) {
				name = label.Name
				if label.Value[0] == '"' {
					value = label.Value
				}
			}
		}
		g.word(pick(g, "*", strconv.Quote(name), strconv.Quote(name)))
		if g.one(3) {
			g.word(pick(g, "*", value, "\"other\"", "true"))
		}
	}
	g.words("{")
	if to == "" || g.one(2) {
		to = "delete"
	}
	clauses := []string{to, "delete", "label -> \"fresh\"", "value -> \"fresh\"", "value -> 5", "value -> true", "value -> -1.5e3"}
	if l.Class != pdu.LabelInstances || !g.v3 { // the order of instances that deltas have brought is another
		clauses = append(clauses, "new \"added\" \"yes\"", "new \"added\" 5")
	}
	g.words(pick(g, clauses...))
	g.words("}")
}

// damage changes words of rules.
func (g *generator) damage(rules string) string {
	words := strings.SplitAfter(rules, " ")
	for range 1 + g.IntN(2) {
		i := g.IntN(len(words))
		switch g.IntN(5) {
		case 0:
			words[i] = ""
		case 1:
			words[i] += words[g.IntN(len(words))]
		case 2:
			words[i] = words[g.IntN(len(words))]
		case 3:
			words[i] = pick(g, "-> ", "{ ", "} ", "5 ", "1.2 ", "1.2.3 ", "9.* ", "9.*.* ", "9.9.* ", "\"x\" ", "\"\" ", "name ", "* ", ", ", "delete ", "null ", "output ",
				"inst ", "text ", "metric ", "indom ", "label ", "type ", "new ", "true ", "-5 ", "1e3 ", "bits ", "( ", ": ", "\"a\\\"b\" ", "\"a\nb\" ", "# c\n", "global ",
				"600.1.2 ", "511.1.2 ", "4.5000.1 ", "4.5.2000 ", "511.1 ", "7. ", "99999999999 ", "@ ", "\" ", "- ", "= ", "a-b ", "if ", "one ", "rescale ", "dupok ")
		default:
			words[i] += "\n"
		}
	}
	return strings.Join(words, "")
}
