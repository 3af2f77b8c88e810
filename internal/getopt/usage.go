package getopt

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/build"
)

// helpColumn is where the explanations of the usage message begin.
const helpColumn = 24

// Report prints the errors of Parse, each with the program's name, and the usage message. It
// reports whether there were errors. If so the program ends, in PCP with exit status 1, also after
// --help; see Status. For --version it prints only the version.
func (s *Set) Report(w io.Writer, errs []error) bool {
	if isVersion(errs) {
		io.WriteString(w, build.Text(s.Program))
		return true
	}
	for _, err := range errs {
		if !errors.Is(err, ErrUsage) {
			fmt.Fprintf(w, "%s: %v\n", s.Program, err)
		}
	}
	if len(errs) > 0 {
		io.WriteString(w, s.Usage())
	}
	return len(errs) > 0
}

// Status is the exit status of a program of PCP after errors of the command line.
func Status(errs []error) int {
	if isVersion(errs) {
		return 0
	}
	return 1
}

func isVersion(errs []error) bool {
	return slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, ErrVersion) })
}

// Usage is the usage message.
func (s *Set) Usage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s %s\n", s.Program, s.Synopsis)
	for i := range s.Options {
		o := &s.Options[i]
		switch {
		case o.Heading != "":
			fmt.Fprintf(&b, "\n%s:\n", o.Heading)
		case o.Help != "":
			b.WriteString(UsageLine(*o))
		}
	}
	return b.String()
}

// UsageLine returns the line of the usage message about an option.
func UsageLine(o Option) string {
	forms := "  " + o.forms()
	if len(forms) >= helpColumn {
		return fmt.Sprintf("%s\n%*s%s\n", forms, helpColumn, "", o.Help)
	}
	return fmt.Sprintf("%-*s%s\n", helpColumn, forms, o.Help)
}

// forms is how the option is written, such as "-d NUM, --domain=NUM".
func (o *Option) forms() string {
	var forms []string
	if o.Short != 0 {
		f := "-" + string(rune(o.Short))
		if o.Arg != "" {
			f += " " + o.Arg
		}
		forms = append(forms, f)
	}
	if o.Long != "" {
		f := "--" + o.Long
		if o.Arg != "" {
			f += "=" + o.Arg
		}
		forms = append(forms, f)
	}
	return strings.Join(forms, ", ")
}
