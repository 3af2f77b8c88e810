package report

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pdu"
)

// The sections that are no set of metrics.
const (
	optionsSection = "options"
	globalSection  = "global"
)

// A Config is what files of configuration say: options and sets of metrics.
type Config struct{ files []*iniFile }

// ConfigPath returns the path of the configuration of pmrep(1) if no option names it: the first
// readable one of pmrep.conf in the current directory, .pmrep.conf and .pcp/pmrep.conf in the home
// directory, and pmrep/pmrep.conf and pmrep in PCP's directory of configurations. It returns "" if
// none can be read.
func ConfigPath() string {
	paths := []string{"./pmrep.conf"}
	if home := os.Getenv("HOME"); home != "" {
		paths = append(paths, filepath.Join(home, ".pmrep.conf"), filepath.Join(home, ".pcp", "pmrep.conf"))
	}
	if conf, err := pcpconf.Load(""); err == nil {
		if dir := conf.Get("PCP_SYSCONF_DIR"); dir != "" {
			paths = append(paths, filepath.Join(dir, "pmrep", "pmrep.conf"), filepath.Join(dir, "pmrep"))
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		if f, err := os.Open(path); err == nil {
			f.Close()
			return path
		}
	}
	return ""
}

// LoadConfig reads a configuration file, or all files of a directory that end in ".conf", in the
// order of their names. An empty path yields an empty Config. The text of an error is that of
// pmrep(1).
func LoadConfig(path string) (*Config, error) {
	c := new(Config)
	if path == "" {
		return c, nil
	}
	names, err := configFiles(path)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := readConfig(name)
		if err != nil {
			return nil, unreadable(name, err)
		}
		f, err := parseINI(name, data)
		if err != nil {
			return nil, err
		}
		c.files = append(c.files, f)
	}
	return c, nil
}

// configFiles are the files of a path.
func configFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case info.Mode().IsRegular():
		return []string{path}, nil
	case !info.IsDir():
		return nil, fmt.Errorf("Failed to read configuration from '%s':\nNot a regular file.", path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	var names []string
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		if !strings.HasSuffix(name, ".conf") {
			continue
		}
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if f, err := os.Open(name); err == nil { // those that cannot be read do not count
			f.Close()
			names = append(names, name)
		}
	}
	return names, nil
}

func unreadable(path string, err error) error {
	return fmt.Errorf("Failed to read configuration from '%s':\n%v.", path, pdu.FromError(err))
}

// readConfig reads a file, but not much more than parseINI accepts.
func readConfig(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	return io.ReadAll(io.LimitReader(f, maxConfigFile+1))
}

// Sets are the names of the sets of metrics, in the order of the files.
func (c *Config) Sets() []string {
	var names []string
	for _, f := range c.files {
		for _, s := range f.sections {
			if s.name != optionsSection && s.name != globalSection && !slices.Contains(names, s.name) {
				names = append(names, s.name)
			}
		}
	}
	return names
}

// Apply sets the options of the configuration: first those of the sections [options], then those of
// sets of metrics. It ignores names of unknown sets. The text of an error is that of pmrep(1).
func (c *Config) Apply(o *Options, sets ...string) error {
	for _, f := range c.files {
		if s := f.section(optionsSection); s != nil {
			if err := f.applyOptions(o, s); err != nil {
				return err
			}
		}
	}
	for _, f := range c.files {
		for _, name := range sets {
			if s := f.section(name); s != nil {
				if err := f.applySet(o, s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (f *iniFile) fail(format string, args ...any) error {
	return fmt.Errorf("Failed to read configuration file '%s':\n%w", f.name, fmt.Errorf(format, args...))
}

// applyOptions sets the options of [options], which has no other entries.
func (f *iniFile) applyOptions(o *Options, s *iniSection) error {
	entries, err := f.entries(s)
	if err != nil {
		return err
	}
	for _, e := range entries {
		set := keyword(e.key)
		switch {
		case set == nil:
			return f.fail("Unknown option %s in [%s].", e.key, s.name)
		case e.value == "":
			return f.fail("No value set for option %s in [%s].", e.key, s.name)
		}
		if err := set(o, unquote(e.value)); err != nil {
			return err
		}
	}
	return nil
}

// applySet sets the options of a set of metrics.
func (f *iniFile) applySet(o *Options, s *iniSection) error {
	entries, err := f.entries(s)
	if err != nil {
		return err
	}
	for _, e := range entries {
		set := keyword(e.key)
		if set == nil {
			continue
		}
		if e.value == "" {
			return f.fail("No value set for option %s in [%s].", e.key, s.name)
		}
		if err := set(o, unquote(e.value)); err != nil {
			return err
		}
	}
	return nil
}

// unquote removes the quotes of a value that is in double quotes.
func unquote(value string) string {
	if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
		return value[1 : len(value)-1]
	}
	return value
}
