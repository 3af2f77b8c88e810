package derived

import (
	"fmt"
	"strconv"
	"strings"
)

// Controls are what pmSetDerivedControl(3) sets, and the variable PCP_DERIVED_CONTROL of the
// environment.
type Controls struct {
	GlobalLimit, ContextLimit int  // how many definitions there may be; 0 for no limit
	NoValue                   bool // a metric that is not known has no values, instead of being an error
}

// controls are the options of Control. set returns an error for an invalid value.
var controls = []struct {
	name string
	set  func(c *Controls, value int) error
}{
	{"GLOBAL_LIMIT", func(c *Controls, v int) error { return setLimit(&c.GlobalLimit, v) }},
	{"CONTEXT_LIMIT", func(c *Controls, v int) error { return setLimit(&c.ContextLimit, v) }},
	{"DEBUG_SYNTAX", ignoreFlag},
	{"DEBUG_SEMANTICS", ignoreFlag},
	{"DEBUG_EVAL", ignoreFlag},
	{"OPTION_NOVALUE", func(c *Controls, v int) error { return setFlag(&c.NoValue, v) }},
}

func setLimit(to *int, v int) error {
	if v < -1 || v == 0 {
		return fmt.Errorf("%d is neither above 0 nor -1 for no limit", v)
	}
	*to = max(v, 0)
	return nil
}

// ignoreFlag accepts the flags of the C library's debug output, which have no effect.
func ignoreFlag(_ *Controls, v int) error { return setFlag(new(bool), v) }

func setFlag(to *bool, v int) error {
	if v != 0 && v != 1 {
		return fmt.Errorf("%d is neither 0 nor 1", v)
	}
	*to = v == 1
	return nil
}

// Control sets options: NAME=VALUE with commas between. One that was set with wins is not changed
// by another without it, as those of files are. The error is about the first that is wrong; those
// before it are set.
func (s *Set) Control(options string, wins bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for option := range strings.SplitSeq(options, ",") {
		if option = strings.TrimSpace(option); option == "" {
			continue
		}
		if err := s.setControl(option, wins); err != nil {
			return fmt.Errorf("control of derived metrics %q: %w", option, err)
		}
	}
	return nil
}

func (s *Set) setControl(option string, wins bool) error {
	name, text, ok := strings.Cut(option, "=")
	if !ok {
		return fmt.Errorf("no value; it is given as NAME=VALUE")
	}
	name = strings.TrimSpace(name)
	for i, c := range controls {
		if !strings.EqualFold(c.name, name) {
			continue
		}
		value, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return fmt.Errorf("%q is no number", strings.TrimSpace(text))
		}
		bit := uint8(1) << i
		if s.won&bit != 0 && !wins {
			return nil
		}
		if wins {
			s.won |= bit
		}
		return c.set(&s.controls, value)
	}
	return fmt.Errorf("no such option")
}

// Controls are the options that are set.
func (s *Set) Controls() Controls {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.controls
}
