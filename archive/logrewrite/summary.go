package logrewrite

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// Summary writes the changes to w, as pmlogrewrite -v prints them. The error is that of w.
func (p *Plan) Summary(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("PCP Archive Log Rewrite Specifications Summary\n")
	p.summarizeGlobal(&b)
	for _, s := range slices.Backward(p.indoms) {
		if s.changes() {
			s.summarize(&b)
		}
	}
	for _, s := range slices.Backward(p.metrics) {
		if s.changes() {
			s.summarize(&b)
		}
	}
	for _, s := range slices.Backward(p.texts) {
		if s.changes() {
			s.summarize(&b)
		}
	}
	for _, s := range slices.Backward(p.labels) {
		if s.changes() {
			s.summarize(&b)
		}
	}
	if !p.Changes() {
		b.WriteString("No changes\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (p *Plan) summarizeGlobal(b *bytes.Buffer) {
	for _, g := range [...]struct {
		name string
		was  string
		is   *string
	}{{"Hostname", p.label.Host, p.host}, {"Timezone", p.label.TimeZone, p.zone}, {"Zoneinfo", p.label.ZoneInfo, p.zoneinfo}} {
		if g.is == nil {
			continue
		}
		if g.name == "Zoneinfo" && p.label.Version < 3 {
			g.was = "(null)"
		}
		fmt.Fprintf(b, "%s:\t%s -> %s\n", g.name, g.was, *g.is)
	}
	if p.features != nil {
		fmt.Fprintf(b, "Features:\t%d -> %d\n", int32(p.label.Features), int32(*p.features))
	}
	if p.delta != nil {
		fmt.Fprintf(b, "Delta:\t\t-> %s\n", deltaText(*p.delta))
	}
}

// deltaText formats d as the C program does: without whole years, and without the sign if d is
// under a second.
func deltaText(d time.Duration) string {
	sign := ""
	if d <= -time.Second {
		sign = "-"
	}
	if d < 0 {
		d = -d
	}
	t := time.Unix(0, 0).UTC().Add(d)
	return fmt.Sprintf("%s%02d:%02d:%02d.%09d", sign, (t.YearDay()-1)*24+t.Hour(), t.Minute(), t.Second(), t.Nanosecond())
}

func (s *indomSpec) summarize(b *bytes.Buffer) {
	fmt.Fprintf(b, "\nInstance Domain: %v\n", s.old)
	if s.moved {
		fmt.Fprintf(b, "pmInDom:\t-> %v\n", s.new)
	}
	for i := range s.insts {
		inst := &s.insts[i]
		switch {
		case inst.deleted:
			fmt.Fprintf(b, "Instance:\t[%d] \"%s\" -> DELETE\n", inst.old.ID, inst.old.Name)
		case inst.changes():
			fmt.Fprintf(b, "Instance:\t[%d] \"%s\" -> [%d] \"%s\"\n", inst.old.ID, inst.old.Name, inst.new.ID, inst.new.Name)
		}
	}
}

func (s *metricSpec) summarize(b *bytes.Buffer) {
	fmt.Fprintf(b, "\nMetric: %s (%v)\n", s.oldName, s.old.PMID)
	if s.pmid {
		fmt.Fprintf(b, "pmID:\t\t%v -> %v\n", s.old.PMID, s.new.PMID)
	}
	if s.name {
		fmt.Fprintf(b, "Name:\t\t%s -> %s\n", s.oldName, s.newName)
	}
	if s.typ {
		fmt.Fprintf(b, "Type:\t\t%s -> %s\n", s.old.Type, s.new.Type)
	}
	if s.indom {
		fmt.Fprintf(b, "InDom:\t\t%s -> %s\n", indomText(s.old.InDom), indomText(s.new.InDom))
		s.summarizeOutput(b)
	}
	if s.insts != nil {
		fmt.Fprintf(b, "Inst Changes:\t<- InDom %v\n", s.insts.old)
	}
	if s.sem {
		fmt.Fprintf(b, "Semantics:\t%s -> %s\n", semText(s.old.Sem), semText(s.new.Sem))
	}
	if s.units {
		fmt.Fprintf(b, "Units:\t\t%s -> %s", s.old.Units, s.new.Units)
		if s.rescale {
			b.WriteString(" (rescale)")
		}
		b.WriteByte('\n')
	}
	for _, v := range s.values {
		fmt.Fprintf(b, "Value:\t\t/%s/ -> \"%s\"\n", v.text, v.with)
	}
	if s.deleted {
		b.WriteString("DELETE\n")
	}
}

func (s *metricSpec) summarizeOutput(b *bytes.Buffer) {
	if s.output.pick == pickAll {
		return
	}
	b.WriteString("Output:\t\t")
	single := s.old.InDom == pdu.NoInDom
	only := ""
	if single {
		only = " and only"
	}
	inst := pdu.InstID(0)
	switch s.output.pick {
	case pickFirst:
		fmt.Fprintf(b, "first%s value", only)
	case pickLast:
		fmt.Fprintf(b, "last%s value", only)
	case pickMin:
		fmt.Fprintf(b, "smallest%s value", only)
	case pickMax:
		fmt.Fprintf(b, "largest%s value", only)
	case pickSum:
		fmt.Fprintf(b, "sum%s value", only)
	case pickAvg:
		fmt.Fprintf(b, "average%s value", only)
	case pickInstance:
		inst = s.output.instance.id
		switch {
		case single:
			b.WriteString("first and only value")
		case s.output.instance.by == byName:
			fmt.Fprintf(b, "value for instance \"%s\"", s.output.instance.name)
		default:
			fmt.Fprintf(b, "value for instance %d", inst)
		}
	}
	if single || s.output.pick == pickSum || s.output.pick == pickAvg {
		fmt.Fprintf(b, " (output instance %d)", inst)
	}
	b.WriteByte('\n')
}

func (s *textSpec) summarize(b *bytes.Buffer) {
	kind := "full"
	if s.old.Kind&pdu.TextOneLine != 0 {
		kind = "One Line"
	}
	what, name := "pmID", func(id uint32) string { return pdu.PMID(id).String() }
	if s.old.Kind&pdu.TextInDom != 0 {
		what, name = "pmInDom", func(id uint32) string { return pdu.InDom(id).String() }
	}
	fmt.Fprintf(b, "\nHelp Text: %s %s (%s)\n", kind, what, name(s.old.Ident))
	if s.moved {
		fmt.Fprintf(b, "ID:\t\t%s -> %s\n", name(s.old.Ident), name(s.ident))
	}
	if s.changed {
		fmt.Fprintf(b, "Text:\t\t\"%s\"\n\t\t->\n\t\t\"%s\"\n", s.old.Text, s.text)
	}
	if s.deleted {
		b.WriteString("DELETE\n")
	}
}

func (s *labelSpec) summarize(b *bytes.Buffer) {
	fmt.Fprintf(b, "\nLabel: %s", s.title())
	if s.label != nil {
		fmt.Fprintf(b, ", Label: \"%s\"", *s.label)
	}
	if s.value != "" {
		fmt.Fprintf(b, ", Value: %s", s.value)
	}
	b.WriteByte('\n')
	if s.extended {
		b.WriteString("NEW:\n")
		appendLabelSet(b, labelKey{s.key.class, s.ident}, s.added)
	}
	if s.moved {
		fmt.Fprintf(b, "ID:\t\t%s -> %s\n", identText(s.key.class, s.key.ident), identText(s.key.class, s.shown()))
	}
	if s.renamed {
		was := "ALL"
		if s.label != nil {
			was = "\"" + *s.label + "\""
		}
		fmt.Fprintf(b, "Label:\t\t%s -> \"%s\"\n", was, s.newLabel)
	}
	if s.revalued {
		was := "ALL"
		if s.value != "" {
			was = s.value
		}
		fmt.Fprintf(b, "Value:\t\t%s -> %s\n", was, s.newValue)
	}
	if s.deleted {
		b.WriteString("DELETE\n")
	}
}

// shown returns the new identifier as the C program prints it.
func (s *labelSpec) shown() uint32 {
	if s.key.class == pdu.LabelCluster {
		return s.ident | 1023
	}
	return s.ident
}

// title names the owner of the labels.
func (s *labelSpec) title() string {
	switch id := s.key.ident; s.key.class {
	case pdu.LabelContext:
		return "Context"
	case pdu.LabelDomain:
		return fmt.Sprintf("Domain %d", id)
	case pdu.LabelCluster:
		return "Cluster " + clusterText(id)
	case pdu.LabelItem:
		return "PMID " + pdu.PMID(id).String()
	case pdu.LabelInDom:
		return "InDom " + pdu.InDom(id).String()
	}
	if s.inst == pdu.NoInst {
		return "InDom " + pdu.InDom(s.key.ident).String() + ", Instances: ALL"
	}
	return fmt.Sprintf("InDom %v, Instance: %d", pdu.InDom(s.key.ident), s.inst)
}

func identText(class pdu.LabelClass, id uint32) string {
	switch class {
	case pdu.LabelDomain:
		return fmt.Sprintf("Domain %d", id)
	case pdu.LabelCluster:
		return "Cluster " + pdu.PMID(id).String()
	case pdu.LabelItem:
		return "PMID " + pdu.PMID(id).String()
	case pdu.LabelInDom:
		return "Indom " + pdu.InDom(id).String()
	}
	return "Instances " + pdu.InDom(id).String()
}

// appendLabelSet adds a label set as pmdumplog prints it.
func appendLabelSet(b *bytes.Buffer, key labelKey, s pdu.LabelSet) {
	target := (&labelSpec{key: key, inst: pdu.NoInst}).title()
	if key.class == pdu.LabelInstances {
		target = fmt.Sprintf("InDom %v[%d]", pdu.InDom(key.ident), s.Inst)
	}
	fmt.Fprintf(b, "    %s labels (%d bytes): %s\n", target, len(s.JSON), s.JSON)
	for i, l := range s.Labels {
		flags := l.Flags.Class().String()
		if l.Flags&pdu.LabelCompound != 0 {
			flags += ",compound"
		}
		if l.Flags&pdu.LabelOptional != 0 {
			flags += ",optional"
		}
		fmt.Fprintf(b, "        [%d] name(%d,%d) : value(%d,%d) [%s]\n", i, l.NameOff, l.NameLen, l.ValueOff, l.ValueLen, flags)
	}
}
