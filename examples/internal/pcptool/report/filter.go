package report

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/pcp-go/pcp/pdu"
)

// A filter selects instances by their names.
type filter struct {
	text    string
	number  int64 // the text is, if it is not below 0
	process bool  // the text may be the name of a process
	pattern *pattern
}

func newFilter(text string) (filter, error) {
	f := filter{text: text, number: -1, process: text != "" && strings.Trim(text, processCharacters) == ""}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && isDigits(text) {
		f.number = n
	}
	// As in PCP, the ends that are put around an expression are parts of its first and of its last
	// alternative.
	var err error
	if f.pattern, err = compilePattern(`\A` + text + `\Z`); err != nil {
		return f, fmt.Errorf("Invalid regex '%s': %w.", text, err)
	}
	return f, nil
}

func newFilters(texts []string) ([]filter, error) {
	var filters []filter
	for _, text := range texts {
		f, err := newFilter(text)
		if err != nil {
			return nil, err
		}
		filters = append(filters, f)
	}
	return filters, nil
}

const processCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// selectInstances are the instances that filters select, in the order of the filters.
func selectInstances(filters []filter, insts []pdu.Instance) []pdu.Instance {
	if len(insts) == 0 {
		return nil
	}
	first, _, _ := strings.Cut(insts[0].Name, " ")
	numbered := isDigits(first)
	processes := isProcess(insts[0].Name)
	var selected []pdu.Instance
	for _, f := range filters {
		n := len(selected)
		if f.number >= 0 && numbered {
			selected = appendNumber(selected, f.number, insts)
		}
		if f.process && processes {
			for _, i := range insts {
				if processName(i.Name) == f.text {
					selected = append(selected, i)
				}
			}
		}
		if len(selected) > n {
			continue
		}
		for _, i := range insts {
			if f.pattern.matches(i.Name) {
				selected = append(selected, i)
			}
		}
	}
	return selected
}

// appendNumber appends the first instance whose name begins with a number.
func appendNumber(selected []pdu.Instance, number int64, insts []pdu.Instance) []pdu.Instance {
	for _, i := range insts {
		word, _, _ := strings.Cut(i.Name, " ")
		if n, err := strconv.ParseInt(word, 10, 64); err == nil && n == number && isDigits(word) {
			return append(selected, i)
		}
	}
	return selected
}

// isProcess reports whether the name of an instance is that of a process: a number and a command.
func isProcess(name string) bool {
	number, command, ok := strings.Cut(name, " ")
	return ok && isDigits(number) && command != ""
}

// processName is the name of the program of a process.
func processName(name string) string {
	_, command, _ := strings.Cut(name, " ")
	words := strings.FieldsFunc(command, unicode.IsSpace)
	if len(words) == 0 {
		return ""
	}
	word := words[0]
	if strings.HasPrefix(word, "(") && strings.HasSuffix(word, ")") && len(word) > 1 {
		return word[1 : len(word)-1]
	}
	return path.Base(strings.TrimSuffix(strings.TrimPrefix(word, "-"), ":"))
}

// passes reports whether an instance passes one of the live filters. Without filters every instance
// passes.
func passes(filters []filter, name string) bool {
	if len(filters) == 0 {
		return true
	}
	process := isProcess(name)
	for _, f := range filters {
		if f.process && process && processName(name) == f.text || f.pattern.matches(name) {
			return true
		}
	}
	return false
}
