package dso

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A Table lists the agents of a local context as the C library names them, by shared objects and
// their initialisation routines. They come from a configuration file of pmcd and from the option
// -K. The agents themselves are Go code: Make has them by the names of the routines. A Table is not
// safe for concurrent use.
type Table struct {
	// Conf is the configuration file, usually /etc/pcp/pmcd/pmcd.conf. Only its lines of type dso
	// count, except that of pmcd itself. In addition, lines of any type named "linux" and "proc"
	// stand for the agents of linux_init and proc_init. The file is read when the Table is first
	// used.
	Conf string
	// Dir is the directory of agents, usually /var/lib/pcp/pmdas. Relative paths of shared objects
	// start from it.
	Dir string
	// Make has the function that makes an agent for each initialisation routine. The domain is that
	// of the table. An agent without a function is missing, like a shared object that cannot be
	// loaded.
	Make map[string]func(domain pdu.Domain) (pmda.Handler, error)
	// Warnings gets a line for each shared object that does not exist or lacks its routine, with
	// the words of the C library, and for each agent that Make fails to make. Nil means no
	// warnings.
	Warnings io.Writer

	entries []entry
	loaded  bool
}

// An entry is a line of the table.
type entry struct {
	domain        pdu.Domain
	path, routine string
}

// load reads the configuration file, once.
func (t *Table) load() error {
	if t.loaded {
		return nil
	}
	f, err := os.Open(t.Conf)
	if err != nil {
		return fmt.Errorf("__pmLocalPMDA: %w", pdu.FromError(err))
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if e, ok := t.parseLine(lines.Text()); ok {
			t.entries = append(t.entries, e)
		}
	}
	t.loaded = true
	return lines.Err()
}

// programs are the agents that a configuration file has as programs, and PCP has as shared objects
// too, with their domains.
var programs = map[string]pdu.Domain{"linux": 60, "proc": 3}

// parseLine is the entry of a line of the configuration file. It is less strict than pmcd is, as in
// the C library.
func (t *Table) parseLine(line string) (e entry, ok bool) {
	words := strings.Fields(line)
	if len(words) > 0 && strings.HasPrefix(line, words[0]) {
		if domain := programs[words[0]]; domain != 0 {
			return entry{domain, filepath.Join(t.Dir, words[0], "pmda_"+words[0]+".so"), words[0] + "_init"}, true
		}
	}
	if len(words) < 5 || strings.TrimLeft(line, "# \t") != line || words[0] == "pmcd" || words[2] != "dso" {
		return e, false
	}
	d, err := strconv.ParseUint(words[1], 10, 16)
	return entry{pdu.Domain(d), words[4], words[3]}, err == nil && d <= uint64(pdu.MaxDomain)
}

// A SpecError is the text of the C library about a specification that Table.Edit refuses.
type SpecError string

// Error returns the text.
func (e SpecError) Error() string { return string(e) }

// Edit changes the table by a specification, one of
//
//	add,DOMAIN,PATH,ROUTINE   adds an agent, which counts unless there is one of this domain
//	del,[DOMAIN][,PATH]       removes the agents of a domain, and those of a path
//	clear                     removes all
//
// Edit has no effect on open contexts. Errors: a SpecError; pdu.ErrInDom for an agent that is not
// in the table; that of opening the configuration file. The counterpart of pmSpecLocalPMDA(3).
func (t *Table) Edit(spec string) error {
	switch {
	case strings.HasPrefix(spec, "add"), strings.HasPrefix(spec, "del"):
		rest, ok := strings.CutPrefix(spec[3:], ",")
		if !ok {
			return SpecError("expected , after op in spec")
		}
		return t.editDomain(spec[:3], rest)
	case !strings.HasPrefix(spec, "clear"):
		return SpecError("bad op in spec")
	case spec != "clear":
		return SpecError("unexpected text after clear op in spec")
	}
	t.entries, t.loaded = nil, true
	return nil
}

// editDomain applies the part of a specification after "add," or "del,".
func (t *Table) editDomain(op, rest string) error {
	number, rest, more := strings.Cut(rest, ",")
	domain, err := strconv.ParseInt(strings.TrimLeft(number, " \t"), 10, 32)
	switch {
	case number == "" && (op == "add" || !more):
		return SpecError("missing domain in spec")
	case number == "" && strings.TrimLeft(rest, ",") != rest, number == "" && rest == "":
		return SpecError("missing domain and dso-path in spec")
	case number == "":
		domain = -1
	case err != nil || domain < 0 || domain > int64(pdu.MaxDomain):
		return SpecError("bad domain in spec")
	}
	path, routine, _ := strings.Cut(rest, ",")
	switch {
	case op == "del":
		return t.remove(pdu.Domain(domain), path)
	case path == "":
		return SpecError("missing dso-path in spec")
	case routine == "":
		return SpecError("missing init-routine in spec")
	}
	err = t.load()
	if err == nil {
		t.entries = append(t.entries, entry{pdu.Domain(domain), path, routine})
	}
	return err
}

// remove removes the entries of a domain and those of a path.
func (t *Table) remove(domain pdu.Domain, path string) error {
	if err := t.load(); err != nil {
		return err
	}
	before := len(t.entries)
	t.entries = slices.DeleteFunc(t.entries, func(e entry) bool { return e.domain == domain || e.path == path })
	if len(t.entries) == before {
		return fmt.Errorf("__pmLocalPMDA: %w", pdu.ErrInDom)
	}
	return nil
}

// Handlers makes the agents of the table that Make has. The error is that of opening the
// configuration file.
func (t *Table) Handlers() ([]pmda.Handler, error) {
	if err := t.load(); err != nil {
		return nil, err
	}
	var handlers []pmda.Handler
	taken := map[pdu.Domain]bool{}
	for _, e := range t.entries {
		make := t.Make[e.routine]
		if make == nil {
			t.warn(t.fault(e))
			continue
		}
		if taken[e.domain] {
			continue
		}
		h, err := make(e.domain)
		if err == nil {
			err = h.Err()
		}
		if err != nil {
			t.warn(fmt.Sprintf("cannot initialize %q of domain %d: %v", e.routine, e.domain, err))
			continue
		}
		taken[e.domain] = true
		handlers = append(handlers, h)
	}
	return handlers, nil
}

func (t *Table) warn(text string) {
	if t.Warnings != nil && text != "" {
		fmt.Fprintf(t.Warnings, "__pmConnectLocal: Warning: %s\n", text)
	}
}

// fault returns the reason why the C library would not load a shared object. The reason is "" if it
// would: then only Make lacks the agent.
func (t *Table) fault(e entry) string {
	path := t.find(e.path)
	if path == "" {
		return fmt.Sprintf("cannot find DSO at \"%s.so\" or \"%s\"", e.path, e.path)
	}
	f, err := elf.Open(path)
	if _, format := errors.AsType[*elf.FormatError](err); format || errors.Is(err, io.EOF) {
		return fmt.Sprintf("error attaching DSO \"%s\"\n%s: invalid ELF header\n", path, path)
	} else if err != nil {
		return fmt.Sprintf("error attaching DSO \"%s\"\n%s: %v\n", path, path, pdu.FromError(err))
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err == nil && slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == e.routine && s.Section != elf.SHN_UNDEF }) {
		return ""
	}
	return fmt.Sprintf("couldn't find init function \"%s\" in DSO \"%s\"", e.routine, path)
}

// find returns the file of a shared object, or "" if it does not exist. path may lack the suffix.
func (t *Table) find(path string) string {
	for _, p := range []string{path + ".so", path} {
		if !filepath.IsAbs(p) {
			p = filepath.Join(t.Dir, p)
		}
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}
