package pcptest

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// A Root is an installation of PCP of the test's own, into which agents can be installed with PCP's
// scripts: the programs are those of the machine, the configuration, names, agents and logs are
// private. Its pmcd has PCP's own agent pmcd alone.
type Root struct {
	*Process // the pmcd that runs
	Dir      string
	t        testing.TB
	program  string
	env      []string
	port     int
}

// privateVariables are the variables of pcp.conf that name private places, below Root.Dir.
var privateVariables = map[string]string{
	"PCP_RC_DIR": "rc", "PCP_BINADM_DIR": "bin", "PCP_VAR_DIR": "var", "PCP_PMCDCONF_PATH": "etc/pmcd.conf",
	"PCP_PMCDOPTIONS_PATH": "etc/pmcd.options", "PCP_PMDAS_DIR": "pmdas", "PCP_RUN_DIR": "run", "PCP_LOG_DIR": "log",
	"PCP_TMP_DIR": "tmp", "PCP_TMPFILE_DIR": "tmp", "PCP_SYSTEMDUNIT_DIR": "systemd",
}

// signalScript takes the place of pmsignal(1), which PCP's scripts have signal every pmcd and every
// agent of a name on the machine: here the signals go to the pmcd of the Root and to its children.
const signalScript = `#!/bin/sh
while getopts as:l arg
do
    case $arg in s) sig=$OPTARG ;; esac
done
shift $(expr $OPTIND - 1)
pmcd=$(cat $PCP_RUN_DIR/pmcd.pid)
for p
do
    case $p in
    pmcd) kill -$sig $pmcd ;;
    *) read stat </proc/$p/stat && set -- ${stat##*)} && [ "$2" = "$pmcd" ] && kill -$sig $p ;;
    esac
done
exit 0
`

// sleepScript replaces pmsleep(1), because the scripts sleep whole seconds to be safe.
const sleepScript = `#!/bin/sh
case $1 in
1) exec sleep 0.3 ;;
*) exec sleep $1 ;;
esac
`

// NewRoot makes a Root and starts its pmcd: a program that takes the options of PCP's, which it is
// if program is empty. Both end with the test.
func NewRoot(t testing.TB, program string) *Root {
	t.Helper()
	Need(t, "pmcd", "pmnsmerge", "pmnsadd", "pmprobe", "newhelp", "/etc/pcp.env", "/proc/self/stat")
	dir := ShortDir(t)
	if program == "" {
		program = Tool(t, "pmcd")
	}
	r := &Root{Dir: dir, t: t, program: program, port: FreePort(t)}
	for _, sub := range []string{"etc", "bin", "rc", "var/pmns", "var/config", "pmdas", "run", "log/pmcd", "tmp"} {
		if err := os.MkdirAll(r.path(sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	conf, err := os.ReadFile("/etc/pcp.conf")
	if err != nil {
		t.Fatal(err)
	}
	for name, place := range privateVariables {
		conf = regexp.MustCompile(`(?m)^`+name+`=.*$`).ReplaceAll(conf, []byte(name+"="+r.path(place)))
	}
	writeFile(t, r.path("etc/pcp.conf"), string(conf))
	programs, err := filepath.Glob(filepath.Join(Conf("PCP_BINADM_DIR"), "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(programs, "/etc/pcp.env") {
		to := "bin"
		if p == "/etc/pcp.env" {
			to = "etc"
		}
		symlink(t, p, r.path(to))
	}
	for name, text := range map[string]string{"pmsignal": signalScript, "pmsleep": sleepScript} {
		os.Remove(r.path("bin/" + name))
		if err := os.WriteFile(r.path("bin/"+name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	set := Agents(t, "pmcd")
	writeFile(t, r.path("etc/pmcd.conf"), set.Conf+"\n[access]\nallow *: all;\n")
	writeFile(t, r.path("var/pmns/root"), set.PMNS)
	r.env = append(account(), "PCP_DIR="+dir, "PMCD_PORT="+strconv.Itoa(r.port), "PMCD_ROOT_AGENT=0", "PMCD_LOCAL=1")
	r.Restart()
	return r
}

func (r *Root) path(name string) string { return filepath.Join(r.Dir, filepath.FromSlash(name)) }

// Restart ends the pmcd and its agents, and starts another.
func (r *Root) Restart() {
	r.t.Helper()
	if r.Process != nil {
		r.Stop()
	}
	args := []string{"-f", "-A", "-q", timeoutSeconds, "-t", timeoutSeconds, "-s", r.path("run/pmcd.socket"), "-c", r.path("etc/pmcd.conf"), "-l", r.path("log/pmcd/pmcd.log")}
	if u, other := otherThanRoot(); other {
		args = append(args, "-U", u.Username)
	} else {
		args = append(args, "-U", "root")
	}
	r.Process = Start(r.t, Daemon{Path: r.program, Args: args, Env: r.env, Dir: r.path("log/pmcd"), Addr: "localhost:" + strconv.Itoa(r.port), Greets: true})
	writeFile(r.t, r.path("run/pmcd.pid"), strconv.Itoa(r.PID())+"\n")
}

// Run runs a command in a directory below Dir, as Run does. PCP's tools speak with the Root's pmcd.
func (r *Root) Run(dir string, argv ...string) (stdout, stderr string, status int) {
	r.t.Helper()
	return RunIn(r.t, r.path(dir), r.env, "", argv...)
}

// Files are the contents of the files that say which agents are installed, by their path below Dir.
func (r *Root) Files() map[string]string {
	r.t.Helper()
	files := map[string]string{}
	paths, err := filepath.Glob(r.path("var/pmns/*"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range append(paths, r.path("etc/pmcd.conf")) {
		b, err := os.ReadFile(p)
		if err != nil {
			r.t.Fatal(err)
		}
		rel, err := filepath.Rel(r.Dir, p)
		if err != nil {
			r.t.Fatal(err)
		}
		files[filepath.ToSlash(rel)] = string(b)
	}
	return files
}
