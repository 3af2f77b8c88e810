package pmcdfiles

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/pcp-go/pcp/examples/internal/pmcdlog"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// LoadConfig reads the configuration file. As in pmcd, a bad line does not keep the other agents
// from starting, but at least one agent is needed.
func (f *Files) LoadConfig() error {
	if f.Config == "" {
		return nil
	}
	f.configRead = f.configVersions()
	conf, err := f.readConfig()
	if errors.Is(err, errNoAgents) && f.Installed {
		return pmcdlog.PlainError(fmt.Sprintf("Error: No PMDAs found in the configuration file %q", f.Config))
	}
	if conf == nil {
		return err
	}
	f.Parsed = conf
	if !f.Installed {
		f.Problems = append(f.Problems, missingPrograms(f.Config, conf)...)
	}
	if err != nil {
		f.Problems = append(f.Problems, err)
	}
	for _, w := range conf.Warnings {
		f.Problems = append(f.Problems, f.configError(w))
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
func (f *Files) configVersions() [2]fileVersion {
	return [2]fileVersion{versionOf(f.Config), versionOf(f.Config + ".access")}
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
func (f *Files) configError(err error) error {
	if err == nil {
		return nil
	}
	if !f.Installed {
		if open, ok := errors.AsType[*fs.PathError](err); ok && open.Op == "open" {
			err = fmt.Errorf("cannot read the configuration: %w: name another file with -c", err)
		}
		return err
	}
	if open, ok := errors.AsType[*fs.PathError](err); ok && open.Op == "open" {
		return pmcdlog.PlainError(fmt.Sprintf("ParseInitAgents: open %s: %v", open.Path, pdu.FromError(open.Err)))
	}
	return pmcdlog.PlainError(pmcdconf.PMCDText(err))
}

// errNoAgents is the error of a valid configuration file without agents.
var errNoAgents = errors.New("no PMDAs found in the configuration file")

func noAgents(path string) error {
	return fmt.Errorf("%w %q: add lines of agents, or run without -c", errNoAgents, path)
}

// readConfig reads the configuration file. If there are no agents it returns no Config.
func (f *Files) readConfig() (*pmcdconf.Config, error) {
	path := f.Config
	conf, err := pmcdconf.Load(path)
	if conf != nil && len(conf.Agents) == 0 {
		if err == nil {
			return nil, noAgents(path)
		}
		return nil, f.configError(err)
	}
	return conf, f.configError(err)
}

// Verify checks the configuration file, or PCP's own without one, and returns the exit status. Its
// output is for scripts, so it lacks the program's name, as with pmcd. PCP's scripts do not start
// pmcd if the check fails. So a pmcd installed as PCP's accepts a file without agents and missing
// programs, as C pmcd does.
func (f *Files) Verify(stderr io.Writer) int {
	path := cmp.Or(f.Config, f.Conf.Get("PCP_PMCDCONF_PATH"))
	cfg, err := pmcdconf.Load(path)
	if cfg != nil {
		for _, w := range cfg.Warnings {
			fmt.Fprintln(stderr, pmcdconf.PMCDText(w)) // a warning does not change the status
		}
	}
	var faults []error
	switch {
	case f.Installed || cfg == nil:
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
