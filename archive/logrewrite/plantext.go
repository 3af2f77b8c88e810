package logrewrite

import (
	"slices"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A textSpec is the changes to a help text.
type textSpec struct {
	old     archive.TextRecord
	ident   uint32 // the new one
	text    string // the new one
	moved   bool
	changed bool
	deleted bool
	active  bool
}

func (s *textSpec) changes() bool { return s.moved || s.changed || s.deleted }

// of describes a text in messages. The C program prints "unknown" for its kind.
func (s *textSpec) of() string {
	if s.old.Kind&pdu.TextInDom != 0 {
		return "unknown text for indom " + pdu.InDom(s.old.Ident).String()
	}
	return "unknown text for metric " + pdu.PMID(s.old.Ident).String()
}

// beginTexts begins a rule for help texts.
func (p *Plan) beginTexts(of textTarget) func(change) error {
	for _, s := range p.texts {
		s.active = false
	}
	if !of.help {
		of.oneLine = true
	}
	var ids []pdu.PMID
	if of.metric != nil {
		if of.metric.name != "" || of.metric.id.one() {
			ids = p.find(*of.metric)
		}
	}
	for _, t := range p.textOrder {
		if t.Kind&pdu.TextOneLine != 0 && !of.oneLine || t.Kind&pdu.TextHelp != 0 && !of.help {
			continue
		}
		match := false
		switch {
		case of.metric == nil:
			match = of.indom != nil && t.Kind&pdu.TextInDom != 0 && of.indom.id.matches(pdu.InDom(t.Ident))
		case t.Kind&pdu.TextPMID == 0:
		case of.metric.name != "" || of.metric.id.one():
			match = slices.Contains(ids, pdu.PMID(t.Ident))
		default:
			match = of.metric.id.matches(pdu.PMID(t.Ident))
		}
		if match {
			p.textSpec(t, of.content).active = true
		}
	}
	return p.changeTexts
}

// textSpec returns the changes to a help text. A non-empty content must match.
func (p *Plan) textSpec(t archive.TextRecord, content string) *textSpec {
	key := textKey{t.Kind, t.Ident}
	specs := p.byText[key]
	for _, s := range slices.Backward(specs) {
		if content == "" || s.old.Text == content {
			return s
		}
	}
	if t.Text == "" { // as pmLookupText(3) does
		t.Text, _ = p.meta.Text(t.Kind&^pdu.TextHelp|pdu.TextOneLine, t.Ident)
	}
	if content != "" {
		t.Text = content
	}
	s := &textSpec{old: t, ident: t.Ident, text: t.Text}
	p.texts = append(p.texts, s)
	p.byText[key] = append(specs, s)
	return s
}

// changeTexts applies a change to the help texts of the current rule.
func (p *Plan) changeTexts(c change) error {
	for _, s := range slices.Backward(p.texts) {
		if s.active {
			if err := p.changeText(s, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Plan) changeText(s *textSpec, c change) error {
	switch c := c.(type) {
	case deletion:
		if s.deleted {
			return p.errorf("Duplicate delete clause for %s", s.of())
		}
		if s.moved || s.changed {
			return p.errorf("Conflicting delete and other clauses for %s", s.of())
		}
		s.deleted = true
		return nil
	case setText:
		if err := p.onceFor(s.changed, s.deleted, "text", s.of()); err != nil {
			return err
		}
		if c.text == s.old.Text {
			p.warn("Help text: No change")
			return nil
		}
		s.text, s.changed = c.text, true
		return nil
	case setPMID:
		if s.old.Kind&pdu.TextPMID != 0 {
			return p.moveText(s, uint32(c.to.of(pdu.PMID(s.old.Ident))), "Text for metric: "+pdu.PMID(s.old.Ident).String()+": metric: No change")
		}
	case moveInDom:
		if s.old.Kind&pdu.TextInDom != 0 {
			id := pdu.InDom(s.old.Ident)
			return p.moveText(s, uint32(c.to.of(id)), "Text for instance domain "+id.String()+": indom: No change")
		}
	}
	return p.wrong(c)
}

func (p *Plan) moveText(s *textSpec, to uint32, same string) error {
	if err := p.onceFor(s.moved, s.deleted, "id", s.of()); err != nil {
		return err
	}
	if to == s.old.Ident {
		p.warn("%s", same)
		return nil
	}
	s.ident, s.moved = to, true
	return nil
}

// onceFor returns an error if something is already changed or deleted.
func (p *Plan) onceFor(changed, deleted bool, what, of string) error {
	if changed {
		return p.errorf("Duplicate %s clause for %s", what, of)
	}
	if deleted {
		return p.errorf("Conflicting %s clause for deleted %s", what, of)
	}
	return nil
}
