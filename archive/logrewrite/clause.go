package logrewrite

import (
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/pdu"
)

func itoa(n int) string { return strconv.Itoa(n) }

// arrow consumes the arrow of a clause. Its errors name the clause.
func (p *parser) arrow(clause string) { p.want("Expecting -> in "+clause+" clause", kArrow) }

// globalClause parses the rest of a clause of a global rule.
func (p *parser) globalClause(t token) {
	switch t.text {
	case "hostname":
		p.arrow("hostname")
		p.lex.host = true
		t := p.want("Expecting hostname in hostname clause", kHost, kString)
		p.lex.host = false
		p.do(setHost{t.text})
	case "tz", "timezone":
		p.arrow("timezone")
		p.do(setTimeZone{p.want("Expecting timezone string in timezone clause", kString).text})
	case "zoneinfo":
		p.arrow("zoneinfo")
		p.do(setZoneInfo{p.want("Expecting zoneinfo string in zoneinfo clause", kString).text})
	case "features":
		p.arrow("features")
		if p.word("bits") {
			p.do(setFeatures{p.bits()})
			return
		}
		p.do(setFeatures{uint32(number(p.want("Expecting features value in features clause", kNumber).text))})
	case "time":
		p.arrow("time")
		p.do(shift{p.delta()})
	default:
		p.syntax()
	}
}

// bits parses a list of bit numbers.
func (p *parser) bits() (set uint32) {
	p.want(`Expecting ( after "bits" in features clause`, '(')
	wrong := `Expecting list of bit numbers after "bits(" in features clause`
	for {
		t := p.want(wrong, kNumber)
		n := number(t.text)
		if n < 0 || n > 31 {
			p.fail(`Bit "` + t.text + `" not in the range 0..31`)
		}
		set |= 1 << n
		wrong = "syntax error"
		if !p.accept(',') {
			p.want(`Expecting ) after "bits(" in features clause`, ')')
			return set
		}
	}
}

// delta parses [+-][[HH:]MM:]SS[.frac].
func (p *parser) delta() time.Duration {
	wrong := "Expecting delta of the form [+-][HH:[MM:]]SS[.d...] in time clause"
	negative := p.peek().kind == '-'
	if negative || p.peek().kind == '+' {
		p.take()
		wrong = "syntax error"
	}
	var whole []int // the numbers before colons
	for {
		t := p.want(wrong, kNumber, kFloat)
		wrong = "syntax error"
		if t.kind == kNumber && len(whole) < 2 && p.accept(':') {
			whole = append(whole, number(t.text))
			continue
		}
		return p.sum(whole, t, negative)
	}
}

// sum returns the duration of hours, minutes and seconds. whole has at most hours and minutes; t is
// the seconds.
func (p *parser) sum(whole []int, t token, negative bool) time.Duration {
	var total int32
	if n := len(whole); n > 0 {
		if whole[n-1] > 59 {
			p.note("Minutes (" + itoa(whole[n-1]) + ") in time clause more than 59")
		}
		total = int32(whole[n-1]) * 60
		if n > 1 {
			total += int32(whole[0]) * 3600
		}
	}
	var fraction time.Duration
	if t.kind == kFloat {
		seconds, _ := strconv.ParseFloat(t.text, 64)
		if seconds > 59 {
			p.note("Seconds (" + string(cnum.AppendF(nil, seconds, 6)) + ") in time clause more than 59")
		}
		total += int32(int64(seconds))
		fraction = time.Duration((seconds - float64(int64(seconds))) * 1e9)
	} else {
		seconds := number(t.text)
		if seconds > 59 {
			p.note("Seconds (" + itoa(seconds) + ") in time clause more than 59")
		}
		total += int32(seconds)
	}
	d := time.Duration(total)*time.Second + fraction
	if negative {
		return -d
	}
	return d
}

// indomClause parses the rest of a clause of an instance domain rule.
func (p *parser) indomClause(t token) {
	switch t.text {
	case "iname":
		if p.name("redact") {
			p.do(redactInstances{})
			return
		}
		if p.name("replace") {
			find, with := p.replacement("iname")
			p.do(replaceInstances{find, with})
			return
		}
		old := p.want("Expecting old external instance name string in iname clause", kString).text
		p.arrow("iname")
		if p.word("delete") {
			p.do(renameInstance{old: old, delete: true})
			return
		}
		p.do(renameInstance{old: old, new: p.want("Expecting new external instance name string or DELETE in iname clause", kString).text})
	case "inst":
		old := p.inst("Expecting old internal instance identifier in inst clause")
		p.arrow("inst")
		if p.word("delete") {
			p.do(renumberInstance{old: old, delete: true})
			return
		}
		p.do(renumberInstance{old: old, new: p.inst("Expecting new internal instance identifier or DELETE in inst clause")})
	case "indom":
		p.arrow("indom")
		duplicate, wrong := p.word("duplicate"), "Expecting <domain>.<serial> or <domain>.* in indom clause"
		if duplicate {
			wrong = "syntax error"
		}
		p.do(moveInDom{to: p.indomID(wrong), duplicate: duplicate})
	default:
		p.syntax()
	}
}

func (p *parser) inst(text string) pdu.InstID { return pdu.InstID(number(p.want(text, kNumber).text)) }

// metricClause parses the rest of a clause of a metric rule.
func (p *parser) metricClause(t token) {
	if t.is("delete") {
		p.do(deletion{})
		return
	}
	if t.is("type") && p.word("if") {
		from := p.typeName("Expecting XXX (from PM_TYPE_XXX) after if in type clause")
		p.want("syntax error", kArrow)
		p.do(setType{ifType: &from, to: p.typeName("Expecting XXX (from PM_TYPE_XXX) in type clause")})
		return
	}
	switch t.text {
	case "pmid", "name", "type", "sem", "units", "extraunits", "indom":
		p.want("syntax error", kArrow)
	}
	switch t.text {
	case "pmid":
		p.do(p.newPMID("Expecting <domain>.<cluster>.<item> or <domain>.<cluster>.* or <domain>.*.* in pmid clause"))
	case "name":
		p.do(setName{name: p.metricName().text})
		if last := len(p.rule.changes) - 1; p.name("dupok") {
			p.rule.changes[last] = setName{p.rule.changes[last].(setName).name, true}
		}
	case "type":
		p.do(setType{to: p.typeName("Expecting XXX (from PM_TYPE_XXX) in type clause")})
	case "sem":
		t := p.peek()
		sem, ok := semNames[strings.ToUpper(t.text)]
		if t.kind != kName || !ok {
			p.fail("Expecting XXX (from PM_SEM_XXX) in sem clause")
		}
		p.take()
		p.do(setSem{sem})
	case "units", "extraunits":
		p.do(p.units(t.text == "extraunits"))
	case "value":
		p.lex.patterns = true
		p.name("replace")
		find, with := p.replacement("metric value")
		p.do(replaceValues{find, with})
	case "indom":
		p.do(p.metricInDom())
	default:
		p.syntax()
	}
}

// metricName parses the new name of a metric. The keyword "if" can be a name here.
func (p *parser) metricName() token {
	if t := p.peek(); t.is("if") {
		p.take()
		t.text = t.raw
		return t
	}
	return p.want("Expecting metric name in iname clause", kName)
}

func (p *parser) newPMID(text string) change {
	return setPMID{p.pmidPattern(p.want(text, kPMID, kPMIDStar))}
}

var semNames = map[string]pdu.Sem{"COUNTER": pdu.SemCounter, "INSTANT": pdu.SemInstant, "DISCRETE": pdu.SemDiscrete}

var typeNames = map[string]pdu.Type{
	"32": pdu.Type32, "U32": pdu.TypeU32, "64": pdu.Type64, "U64": pdu.TypeU64, "FLOAT": pdu.TypeFloat, "DOUBLE": pdu.TypeDouble,
	"STRING": pdu.TypeString,
}

func (p *parser) typeName(text string) pdu.Type {
	t := p.peek()
	typ, ok := typeNames[strings.ToUpper(t.text)]
	if t.kind != kName && t.kind != kNumber || !ok {
		p.fail(text)
	}
	p.take()
	return typ
}

var (
	spaceNames = []string{"BYTE", "KBYTE", "MBYTE", "GBYTE", "TBYTE", "PBYTE", "EBYTE"}
	timeNames  = []string{"NSEC", "USEC", "MSEC", "SEC", "MIN", "HOUR"}
)

// replacement parses a regular expression and the replacement of its first match.
func (p *parser) replacement(clause string) (find, with string) {
	p.lex.patterns = true
	find = p.want("Expecting <regular expression> in "+clause+" clause", kString, kPattern).text
	p.arrow(clause)
	with = p.want("Expecting <replacement> in "+clause+" clause", kString, kPattern).text
	p.lex.patterns = false
	return find, with
}

// extraUnits are the extra units of PCP 7 by name.
var extraUnits = map[string]map[string]pdu.Units{
	"TEMPERATURE": {"C": pdu.TempCelsius, "F": pdu.TempFahrenheit, "K": pdu.TempKelvin},
	"VOLTAGE":     {"V": pdu.Volt, "MV": pdu.MilliVolt, "UV": pdu.MicroVolt},
	"CURRENT":     {"A": pdu.Amp, "MA": pdu.MilliAmp, "UA": pdu.MicroAmp},
	"POWER":       {"KW": pdu.KiloWatt, "W": pdu.Watt, "MW": pdu.MilliWatt, "UW": pdu.MicroWatt},
}

// extraUnit parses the kind and the scale of an extra unit, after a comma.
func (p *parser) extraUnit() pdu.Units {
	p.want("syntax error", ',')
	kind := p.want("syntax error", kName).text
	scales := extraUnits[strings.ToUpper(kind)]
	if scales == nil {
		p.fail("Unknown extra unit type \"" + kind + "\"")
	}
	p.want("syntax error", ',')
	scale := p.want("syntax error", kName).text
	u, ok := scales[strings.ToUpper(scale)]
	if !ok {
		p.fail("Unknown extra unit scale \"" + scale + "\" for type \"" + kind + "\"")
	}
	return u
}

// units parses the six numbers of UNITS, and the additional words of EXTRAUNITS.
func (p *parser) units(extra bool) change {
	var dim [3]int
	for i := range dim {
		wrong := "Expecting 3 numeric values for dim* fields of units"
		if i > 0 {
			wrong = "syntax error"
		}
		switch k := p.peek().kind; k {
		case '+', '-':
			p.take()
			dim[i] = number(p.want("syntax error", kNumber).text)
			if k == '-' {
				dim[i] = -dim[i]
			}
		default:
			dim[i] = number(p.want(wrong, kNumber).text)
		}
		p.want("syntax error", ',')
	}
	space := p.scale(spaceNames, "Expecting 0 or XXX (from PM_SPACE_XXX) for scaleSpace field of units")
	p.want("syntax error", ',')
	time := p.scale(timeNames, "Expecting 0 or XXX (from PM_TIME_XXX) for scaleTime field of units")
	p.want("syntax error", ',')
	const wrong = "Expecting 0 or ONE for scaleCount field of units"
	count := 0
	if t := p.want(wrong, kNumber, kName); t.kind == kNumber {
		count = number(t.text)
	} else if !strings.EqualFold(t.text, "ONE") {
		p.fail(wrong)
	}
	u := packUnits(dim, space, time, count)
	if extra {
		u |= p.extraUnit()
	}
	return setUnits{u, p.word("rescale")}
}

// packUnits makes units from numbers. Numbers that are too large lose bits, as in C.
func packUnits(dim [3]int, space, time, count int) pdu.Units {
	return pdu.Units(dim[0]&15<<28 | dim[1]&15<<24 | dim[2]&15<<20 | space&15<<16 | time&15<<12 | count&15<<8)
}

// scale parses 0 or the name of a scale.
func (p *parser) scale(names []string, wrong string) int {
	t := p.want(wrong, kNumber, kName)
	if t.kind == kNumber && number(t.text) == 0 {
		return 0
	}
	for i, name := range names {
		if t.kind == kName && strings.EqualFold(t.text, name) {
			return i
		}
	}
	p.fail(wrong)
	return 0
}

// metricInDom parses the new instance domain of a metric.
func (p *parser) metricInDom() change {
	c := moveInDom{}
	if p.word("null") {
		c.none = true
	} else {
		c.to = p.indomID("Expecting <domain>.<serial> or NULL in indom clause")
	}
	if !p.word("output") {
		return c
	}
	const wrong = "Expecting FIRST or LAST or INST or INAME or MIN or MAX or AVG for OUTPUT instance option"
	t := p.want(wrong, kName)
	switch strings.ToUpper(t.text) {
	case "FIRST":
		c.output.pick = pickFirst
	case "LAST":
		c.output.pick = pickLast
	case "MIN":
		c.output.pick = pickMin
	case "MAX":
		c.output.pick = pickMax
	case "SUM":
		c.output.pick = pickSum
	case "AVG":
		c.output.pick = pickAvg
	case "INST":
		c.output = outputChoice{pickInstance, instancePattern{by: byID, id: p.inst("syntax error")}}
	case "INAME":
		c.output = outputChoice{pickInstance, instancePattern{by: byName, name: p.want("syntax error", kString).text}}
	default:
		p.fail(wrong)
	}
	return c
}

// textClause parses the rest of a clause of a text rule.
func (p *parser) textClause(t token) {
	of := p.rule.target.(textTarget)
	if t.is("delete") {
		p.do(deletion{})
		return
	}
	const wrong = "syntax error"
	switch {
	case t.is("text"):
		p.want(wrong, kArrow)
		t := p.want(wrong, kString, kText)
		if t.text == "" {
			p.syntax()
		}
		p.do(setText{t.text})
	case t.is("metric") && of.metric != nil:
		p.want(wrong, kArrow)
		p.do(p.newPMID(wrong))
	case t.is("indom") && of.indom != nil:
		p.want(wrong, kArrow)
		p.do(moveInDom{to: p.indomID(wrong)})
	default:
		p.syntax()
	}
}

// labelClause parses the rest of a clause of a label rule.
func (p *parser) labelClause(t token) {
	const wrong = "syntax error"
	class := p.rule.target.(labelTarget).class
	switch t.text {
	case "delete":
		p.do(deletion{})
		return
	case "new":
		name := p.labelText()
		p.do(addLabel{name, p.labelValue()})
		return
	}
	for _, c := range [...]struct {
		word  string
		class pdu.LabelClass
	}{
		{"domain", pdu.LabelDomain}, {"cluster", pdu.LabelCluster}, {"item", pdu.LabelItem},
		{"indom", pdu.LabelInDom}, {"instances", pdu.LabelInstances}, {"instance", pdu.LabelInstances},
		{"label", class}, {"value", class},
	} {
		if t.is(c.word) && c.class == class {
			p.want(wrong, kArrow)
			p.do(p.labelMove(t.text))
			return
		}
	}
	p.syntax()
}

// labelMove parses the part of a label clause after the arrow.
func (p *parser) labelMove(word string) change {
	const wrong = "syntax error"
	switch word {
	case "domain":
		return setPMID{pmidPattern{number(p.want(wrong, kNumber).text), anyNumber, anyNumber}}
	case "cluster":
		return setPMID{p.pmidPattern(p.want(wrong, kFloat, kInDomStar))}
	case "item":
		return p.newPMID(wrong)
	case "indom", "instances":
		return moveInDom{to: p.indomID(wrong)}
	case "instance":
		return moveInstance{p.inst(wrong)}
	case "label":
		return renameLabel{p.labelText()}
	}
	return setLabelValue{p.labelValue()}
}

func (p *parser) labelText() string {
	if !isText(p.peek()) {
		p.syntax()
	}
	return p.take().text
}

func (p *parser) labelValue() string {
	if !isValue(p.peek()) {
		p.syntax()
	}
	return p.take().raw
}
