package pcptool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/folio"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// defaultHost is the source of tools that are not given one.
const defaultHost = "local:"

// localSource is the source of local contexts.
const localSource = "@"

// Source returns the source that the options name: "@" for the local context of -L, even if other
// options name sources; an archive, which may be a list with commas; or the host specification of
// -h. The default is "local:", the collector of this computer, also if the environment requests a
// local context and the tool has no Local. With Multi, Source returns the first source.
func (c *Command) Source() (pmapi.SourceKind, string) {
	switch {
	case c.given.local && c.Local != nil:
		return pmapi.SourceLocal, localSource
	case c.given.local:
		return pmapi.SourceHost, defaultHost
	case len(c.given.archives) > 0:
		return pmapi.SourceArchive, c.Archives()[0]
	case len(c.given.hosts) > 0:
		return pmapi.SourceHost, c.given.hosts[0]
	}
	return pmapi.SourceHost, defaultHost
}

// Hosts are the host specifications of -h, --host-list and --hostsfile, and of the environment.
// Without Multi there is at most one.
func (c *Command) Hosts() []string { return slices.Clone(c.given.hosts) }

// Archives are the archives of -a, --archive-list and --archive-folio, and of the environment.
// Without Multi they are one name, a list with commas and without repetitions. With -O and without
// any source it is the directory of this computer's archives.
func (c *Command) Archives() []string {
	if c.Multi || len(c.given.archives) == 0 {
		return slices.Clone(c.given.archives)
	}
	list := c.given.archives[0]
	for _, name := range c.given.archives[1:] {
		if !strings.Contains(","+list+",", ","+name+",") {
			list += "," + name
		}
	}
	return []string{list}
}

func (c *Command) setArchive(value string) error {
	if len(c.given.hosts) > 0 {
		return errSources
	}
	c.given.archives = append(c.given.archives, value)
	return nil
}

func (c *Command) setHost(value string) error {
	if len(c.given.archives) > 0 {
		return errSources
	}
	return c.addHosts([]string{value}, value)
}

// The reference has a text for single sources and another for lists.
var (
	errSources     = errors.New("only one host or archive allowed")
	errSourceLists = errors.New("only one of hosts or archives allowed")
)

func (c *Command) setArchiveList(value string) error {
	if !c.Multi {
		return c.addArchives([]string{value})
	}
	return c.addArchives(strings.Split(strings.TrimSuffix(value, ","), ","))
}

func (c *Command) addArchives(names []string) error {
	if len(c.given.hosts) > 0 {
		return errSourceLists
	}
	c.given.archives = append(c.given.archives, names...)
	return nil
}

// setLocalArchives makes this computer's archives the source: those below PCP_ARCHIVE_DIR of the
// environment or of pcp.conf.
func (c *Command) setLocalArchives() error {
	conf, err := pcpconf.Load("")
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	return c.addArchives([]string{conf.Get("PCP_ARCHIVE_DIR") + string(filepath.Separator) + host})
}

func (c *Command) setHostList(value string) error {
	return c.addHosts(strings.FieldsFunc(value, func(r rune) bool { return r == ',' }), value)
}

// setHostsFile reads a file with a host specification in each line; other lines are empty or begin
// with "#".
func (c *Command) setHostsFile(file string) error {
	if len(c.given.archives) > 0 {
		return errSourceLists
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return c.runtimeError(err, "cannot open hosts file %s: %v", file, pdu.FromError(err))
	}
	var hosts []string
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 && words[0][0] != '#' {
			hosts = append(hosts, words[0])
		}
	}
	return c.addHosts(hosts, file)
}

// addHosts adds hosts that an argument gives.
func (c *Command) addHosts(hosts []string, argument string) error {
	if len(c.given.archives) > 0 && len(hosts) > 0 {
		return errSourceLists
	}
	c.given.hosts = append(c.given.hosts, hosts...)
	if len(c.given.hosts) > 1 && len(hosts) > 0 && !c.Multi {
		return fmt.Errorf("too many hosts requested: %s", argument)
	}
	return nil
}

// setFolio reads the archives of a folio, as mkaf(1) makes them. Relative names are relative to its
// directory.
func (c *Command) setFolio(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return c.runtimeError(err, "cannot open archive folio %s: %v", file, pdu.FromError(err))
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	switch {
	case len(text) == 0:
		return c.runtimeError(pdu.ErrLabel, "archive folio %s has no header", file)
	case !strings.HasPrefix(lines[0], "PCPFolio"):
		return c.runtimeError(pdu.ErrLabel, "archive folio %s has bad magic", file)
	case len(lines) == 1:
		return c.runtimeError(pdu.ErrLabel, "archive folio %s has no version", file)
	case !strings.HasPrefix(lines[1], "Version: 1"):
		return c.runtimeError(pdu.ErrLabel, "unknown version archive folio %s", file)
	}
	var names []string
	for _, a := range folio.Parse(text).Archives {
		switch {
		case a.Host == "":
			return c.runtimeError(pdu.ErrLabel, "missing host on archive folio line %d", a.Line)
		case a.Base == "":
			return c.runtimeError(pdu.ErrLabel, "missing path on archive folio line %d", a.Line)
		case filepath.IsAbs(a.Base):
			names = append(names, a.Base)
		default:
			names = append(names, filepath.Dir(file)+string(filepath.Separator)+a.Base)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return c.addArchives(names)
}

// runtimeError is an error that is printed without the usage message.
func (c *Command) runtimeError(cause error, format string, args ...any) error {
	c.given.runtimeError = cause
	return plainMessage(fmt.Sprintf("%s: %s\n", c.Name, fmt.Sprintf(format, args...)))
}
