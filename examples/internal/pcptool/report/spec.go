package report

import (
	"fmt"
	"slices"
	"strings"
)

// A Spec says which metric a report has, or which metrics below a name, and how: what a METRICSPEC
// of pmrep(1) says, or the entries of a set in files of configuration.
type Spec struct {
	Name      string
	Label     string   // empty for the default, made of the name
	Instances []string // filters, instead of Options.Instances
	Unit      string   // empty for that of the options or of the metric
	Type      string   // "raw" for no rate of a counter, other texts for a rate, empty for what the options say
	Width     int      // Unset for that of the options
	Precision int      // Unset for that of the options
	Formula   string   // defines Name as a derived metric
}

// ParseSpec parses a METRICSPEC:
// "metric[,label[,instances[,unit[,type[,width[,precision[,limit]]]]]]]". Instances are one filter,
// or several in quotes, with commas between or within. The text of an error is that of pmrep(1).
func ParseSpec(text string) (Spec, error) {
	name, rest, _ := strings.Cut(text, ",")
	return parseSpec(name, rest)
}

// parseSpec parses what follows the name.
func parseSpec(name, rest string) (Spec, error) {
	s := Spec{Name: name, Width: Unset, Precision: Unset}
	s.Label, rest, _ = strings.Cut(rest, ",")
	s.Instances, rest = cutInstances(rest)
	fields := append(strings.Split(rest, ","), "", "", "")
	s.Unit, s.Type = fields[0], fields[1]
	for i, to := range []*int{&s.Width, &s.Precision} {
		if err := setCount(to, fields[2+i], name); err != nil {
			return Spec{}, err
		}
	}
	return s, nil
}

// setCount sets a width or a precision of a metric, unless the text is empty.
func setCount(to *int, text, name string) error {
	if text == "" {
		return nil
	}
	n, ok := parseInt(text)
	if !ok || n < 0 {
		return fmt.Errorf("Non-negative integer expected: %s", name)
	}
	*to = n
	return nil
}

// cutInstances cuts a list of filters off a text.
func cutInstances(text string) (filters []string, rest string) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		filter, rest, _ := strings.Cut(text, ",")
		if filter == "" {
			return nil, rest
		}
		return []string{filter}, rest
	}
	for {
		quoted, after, closed := strings.Cut(text[1:], text[:1])
		if !closed {
			return nil, "" // as if there were none
		}
		filters = append(filters, strings.Split(quoted, ",")...)
		if len(after) > 1 && after[0] == ',' && (after[1] == '"' || after[1] == '\'') {
			text = after[1:]
			continue
		}
		_, rest, _ = strings.Cut(after, ",")
		return filters, rest
	}
}

// splitInstances splits the argument of -i: filters with commas between, perhaps in quotes.
func splitInstances(text string) []string {
	var filters []string
	for {
		quoted, rest := "", text
		if text != "" && text[0] == '"' {
			before, after, closed := strings.Cut(text[1:], `"`)
			quoted, rest = before, after
			if !closed {
				return append(filters, quoted)
			}
		}
		part, after, more := strings.Cut(rest, ",")
		filters = append(filters, strings.Trim(quoted+part, `'"`))
		if !more {
			return filters
		}
		text = after
	}
}

// attributes are the words after the dot in keys of a set that say more of a metric.
var attributes = []string{"label", "instances", "unit", "type", "width", "precision", "limit", "formula"}

// specList are Specs in their order, and by their keys.
type specList struct {
	keys  []string
	specs map[string]Spec
}

// put adds a Spec, or replaces that of the key, which stays where it is.
func (l *specList) put(key string, s Spec) {
	if l.specs == nil {
		l.specs = map[string]Spec{}
	}
	if _, ok := l.specs[key]; !ok {
		l.keys = append(l.keys, key)
	}
	l.specs[key] = s
}

func (l *specList) all() []Spec {
	specs := make([]Spec, len(l.keys))
	for i, key := range l.keys {
		specs[i] = l.specs[key]
	}
	return specs
}

// Specs are what the operands of pmrep(1) stand for: METRICSPECs and, after a colon, names of sets
// of metrics. Those of the section [global] come first, unless globals is false. The text of an
// error is that of pmrep(1).
func (c *Config) Specs(operands []string, globals bool) ([]Spec, error) {
	var all specList
	if globals {
		for _, f := range c.files {
			if err := f.addSet(&all, globalSection); err != nil {
				return nil, err
			}
		}
	}
	for _, operand := range operands {
		if strings.HasPrefix(operand, ":") {
			// Each set operand adds all sets, so that later sets override metrics in between.
			if err := c.addSets(&all, operands); err != nil {
				return nil, err
			}
			continue
		}
		s, err := ParseSpec(operand)
		if err != nil {
			return nil, err
		}
		all.put(s.Name, s)
	}
	return all.all(), nil
}

// addSets adds all sets that the operands name. Of several sections of a name that of the last file
// is the set.
func (c *Config) addSets(all *specList, operands []string) error {
	for _, operand := range operands {
		name, ok := strings.CutPrefix(operand, ":")
		if !ok {
			continue
		}
		files := slices.Clone(c.files)
		slices.Reverse(files)
		i := slices.IndexFunc(files, func(f *iniFile) bool { return f.section(name) != nil })
		if i < 0 {
			return fmt.Errorf("Metricset definition '%s' not found.", operand)
		}
		if err := files[i].addSet(all, name); err != nil {
			return err
		}
	}
	return nil
}

// addSet adds the metrics of a section.
func (f *iniFile) addSet(all *specList, section string) error {
	s := f.section(section)
	if s == nil {
		return nil
	}
	entries, err := f.entries(s)
	if err != nil {
		return err
	}
	set := specList{}
	for _, e := range entries {
		switch {
		case keyword(e.key) != nil && section == globalSection:
			return f.fail("Section [%s] contains options.", section)
		case keyword(e.key) != nil:
			continue
		case e.value == "":
			return f.fail("No value set for %s in [%s].", e.key, section)
		}
		if err := f.addEntry(&set, e); err != nil {
			return err
		}
	}
	for _, s := range set.all() {
		all.put(s.Name, s)
	}
	return nil
}

// addEntry adds what an entry of a set says.
func (f *iniFile) addEntry(set *specList, e entry) error {
	key, word, dotted := strings.Cut(e.key, ".")
	word, _, three := strings.Cut(word, ".")
	attribute := dotted && slices.Contains(attributes, word) && (word == "formula" || !strings.Contains(e.value, ","))
	if attribute && three {
		return f.fail("too many values to unpack (expected 2).")
	}
	if attribute {
		s, ok := set.specs[key]
		if !ok {
			return f.fail("Undeclared metric key %s.", key)
		}
		if err := s.setAttribute(word, unquote(e.value)); err != nil {
			return err
		}
		set.put(key, s)
		return nil
	}
	if !dotted && !strings.Contains(e.value, ",") {
		set.put(e.key, Spec{Name: e.value, Width: Unset, Precision: Unset})
		return nil
	}
	s, err := parseSpec(e.key, e.value)
	if err != nil {
		return err
	}
	set.put(e.key, s)
	return nil
}

func (s *Spec) setAttribute(word, value string) error {
	switch word {
	case "label":
		s.Label = value
	case "instances":
		s.Instances = []string{value}
	case "unit":
		s.Unit = value
	case "type":
		s.Type = value
	case "width":
		return setCount(&s.Width, value, s.Name)
	case "precision":
		return setCount(&s.Precision, value, s.Name)
	case "formula":
		s.Formula = value
	}
	return nil
}
