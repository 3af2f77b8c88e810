package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// A configFile is the configuration file of -c.
type configFile struct {
	conf     *pmcdconf.Config // nil without -c
	problems []error          // to be logged: bad lines, warnings, and ports that could not be opened
	read     [2]fileVersion   // the file, and that of further access rules, when they were read
}

// load reads the file of -c. As in pmcd, a bad line does not keep the other agents from starting,
// but at least one agent is needed.
func (f *configFile) load(o *options) error {
	if o.config == "" {
		return nil
	}
	f.read = o.configVersions()
	conf, err := o.readConfig()
	if errors.Is(err, errNoAgents) && o.installed {
		return plainError(fmt.Sprintf("Error: No PMDAs found in the configuration file %q", o.config))
	}
	if conf == nil {
		return err
	}
	f.conf = conf
	if !o.installed {
		f.problems = append(f.problems, missingPrograms(o.config, conf)...)
	}
	if err != nil {
		f.problems = append(f.problems, err)
	}
	for _, w := range conf.Warnings {
		f.problems = append(f.problems, o.configError(w))
	}
	return nil
}

// missingPrograms returns an error for each agent whose program does not exist or is not
// executable.
func missingPrograms(path string, conf *pmcdconf.Config) (errs []error) {
	for _, a := range conf.Agents {
		if len(a.Argv) == 0 || !filepath.IsAbs(a.Argv[0]) {
			continue
		}
		fault := ""
		switch info, err := os.Stat(a.Argv[0]); {
		case errors.Is(err, fs.ErrNotExist):
			fault = "does not exist: correct its path, or build it"
		case err == nil && info.IsDir():
			fault = "is a directory: name a file in it"
		case err == nil && runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
			fault = "is not executable: chmod +x"
		default:
			continue
		}
		errs = append(errs, fmt.Errorf("%s:%d: the program %s of agent %q %s", path, a.Line, a.Argv[0], a.Name, fault))
	}
	return errs
}

// configVersions returns the versions of the configuration file and of its access rules.
func (o *options) configVersions() [2]fileVersion {
	return [2]fileVersion{versionOf(o.config), versionOf(o.config + ".access")}
}

// A fileVersion identifies the contents of a file.
type fileVersion struct{ os.FileInfo }

// versionOf returns the present version of a file, the zero fileVersion if the file does not exist.
func versionOf(path string) fileVersion {
	info, _ := os.Stat(path)
	return fileVersion{info}
}

func (v fileVersion) same(w fileVersion) bool {
	if v.FileInfo == nil || w.FileInfo == nil {
		return v.FileInfo == nil && w.FileInfo == nil
	}
	return os.SameFile(v.FileInfo, w.FileInfo) && v.Size() == w.Size() && v.ModTime().Equal(w.ModTime())
}

// configError returns an error of the configuration file. Installed as PCP's pmcd, the error has
// the text of pmcd, which does not name the file.
func (o *options) configError(err error) error {
	if err == nil {
		return nil
	}
	if !o.installed {
		if open, ok := errors.AsType[*fs.PathError](err); ok && open.Op == "open" {
			err = fmt.Errorf("cannot read the configuration: %w: name another file with -c", err)
		}
		return err
	}
	if open, ok := errors.AsType[*fs.PathError](err); ok && open.Op == "open" {
		return plainError(fmt.Sprintf("ParseInitAgents: open %s: %v", open.Path, pdu.FromError(open.Err)))
	}
	return plainError(pmcdconf.PMCDText(err))
}

// errNoAgents is the error of a valid configuration file without agents.
var errNoAgents = errors.New("no PMDAs found in the configuration file")

func noAgents(path string) error {
	return fmt.Errorf("%w %q: add lines of agents, or run without -c", errNoAgents, path)
}

// readConfig reads the configuration file. If there are no agents it returns no Config.
func (o *options) readConfig() (*pmcdconf.Config, error) {
	path := o.config
	conf, err := pmcdconf.Load(path)
	if conf != nil && len(conf.Agents) == 0 {
		if err == nil {
			return nil, noAgents(path)
		}
		return nil, o.configError(err)
	}
	return conf, o.configError(err)
}

// verifyConfig checks the configuration file of -c, or PCP's own, and returns the exit status. Its
// output is for scripts, so it lacks the program's name, as with pmcd. PCP's scripts do not start
// pmcd if the check fails. So a pmcd installed as PCP's accepts a file without agents and missing
// programs, as C pmcd does.
func (o *options) verifyConfig(conf *pcpconf.Conf, stderr io.Writer) int {
	path := o.config
	if path == "" {
		path = conf.Get("PCP_PMCDCONF_PATH")
	}
	cfg, err := pmcdconf.Load(path)
	if cfg != nil {
		for _, w := range cfg.Warnings {
			fmt.Fprintln(stderr, pmcdconf.PMCDText(w)) // a warning does not change the status
		}
	}
	var faults []error
	switch {
	case o.installed || cfg == nil:
	case err == nil && len(cfg.Agents) == 0:
		faults = []error{noAgents(path)}
	default:
		faults = missingPrograms(path, cfg)
	}
	if open, ok := errors.AsType[*fs.PathError](err); ok && open.Op == "open" {
		err = fmt.Errorf("pmcd verify %s: %w", path, pdu.FromError(err))
	}
	if err != nil {
		fmt.Fprintln(stderr, pmcdconf.PMCDText(err))
	}
	for _, fault := range faults {
		fmt.Fprintln(stderr, fault)
	}
	if err != nil || len(faults) > 0 {
		return 1
	}
	return 0
}
