package pmda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// An InstallFile is a file that the option --install writes.
type InstallFile struct {
	Name   string // in the directory of the agent
	Data   []byte
	Script bool // executable: mode 0755 instead of 0644
}

// installFiles returns the files for the directory PCP_PMDAS_DIR/NAME, except the agent's program
// pmdaNAME. An administrator runs the script Install in that directory.
//
//	domain.h   the agent's symbol and domain
//	pmns       the names of its metrics
//	root       a name space of just these, to check them with
//	help       the help texts, for newhelp(1)
//	Install, Remove
//
// An agent whose metrics are below several names has another file pmns.NAME for each further name.
// Errors: an agent's name that scripts do not accept, a metric without a dot in its name, and the
// error of Err.
func (a *Agent) installFiles() ([]InstallFile, error) {
	if err := a.Err(); err != nil {
		return nil, err
	}
	if strings.ContainsFunc(a.Name, func(r rune) bool { return r != '_' && !isAlnum(r) }) {
		return nil, fmt.Errorf("pmda: agent %q: to be installed, its name must have letters, digits and underscores alone", a.Name)
	}
	top, err := a.Namespace().Children("")
	if err != nil {
		return nil, err
	}
	if len(top) == 0 {
		return nil, fmt.Errorf("pmda: agent %s: has no metrics to install", a.Name)
	}
	var roots []string
	for _, c := range top {
		if c.Leaf {
			return nil, fmt.Errorf("pmda: agent %s: metric %q cannot be installed: a name needs a dot", a.Name, c.Name)
		}
		roots = append(roots, c.Name)
	}
	files := []InstallFile{{Name: "domain.h", Data: fmt.Appendf(nil, "#define %s %d\n", a.symbol(), a.Domain)}}
	names, err := a.nameFiles(roots)
	if err != nil {
		return nil, err
	}
	return append(append(files, names...),
		InstallFile{Name: "help", Data: a.helpSource()},
		InstallFile{Name: "Install", Data: a.script("pmdaInstall", roots), Script: true},
		InstallFile{Name: "Remove", Data: a.script("pmdaRemove", roots), Script: true},
	), nil
}

// nameFiles returns a file pmns for each root, and the file root. The pmns file of a dynamic root
// has no names but the same entry as the file root, which pmnsadd(1) accepts.
func (a *Agent) nameFiles(roots []string) (files []InstallFile, err error) {
	var entries, includes string
	t := a.Namespace()
	for _, r := range roots {
		name := "pmns"
		if len(roots) > 1 && r != a.Name {
			name += "." + r
		}
		var b bytes.Buffer
		if _, err := t.Lookup(r); err == nil {
			entry := fmt.Sprintf("\t%s\t%s:*:*\n", r, a.symbol())
			entries += entry
			fmt.Fprintf(&b, "root {\n%s}\n", entry)
		} else {
			entries += "\t" + r + "\n"
			includes += fmt.Sprintf("\n#include %q\n", name)
			if err := a.writeNames(&b, t, r); err != nil {
				return nil, err
			}
		}
		files = append(files, InstallFile{Name: name, Data: b.Bytes()})
	}
	root := "#include \"domain.h\"\n\nroot {\n" + entries + "}\n" + includes
	return append(files, InstallFile{Name: "root", Data: []byte(root)}), nil
}

func isAlnum(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// symbol returns the name that stands for the domain in the files until an installation replaces
// it. PCP's scripts remove a leading "PMDA", and so does symbol.
func (a *Agent) symbol() string {
	s := strings.Map(func(r rune) rune {
		if isAlnum(r) {
			return r
		}
		return '_'
	}, strings.ToUpper(a.Name))
	if t := strings.TrimPrefix(s, "PMDA"); t != "" {
		s = t
	}
	if s[0] <= '9' {
		s = "_" + s
	}
	return s
}

// writeNames writes the names below the name at.
func (a *Agent) writeNames(w io.Writer, t *pmns.Tree, at string) error {
	below, err := t.Children(at)
	if err != nil {
		return err
	}
	var inner []string
	fmt.Fprintf(w, "%s {\n", at)
	for _, c := range below {
		full := at + "." + c.Name
		id, err := t.Lookup(full)
		switch {
		case errors.Is(err, pdu.ErrNonLeaf):
			inner = append(inner, full)
			fmt.Fprintf(w, "\t%s\n", c.Name)
		case err != nil:
			return err
		case !c.Leaf:
			fmt.Fprintf(w, "\t%s\t%s:*:*\n", c.Name, a.symbol())
		default:
			fmt.Fprintf(w, "\t%s\t%s:%d:%d\n", c.Name, a.symbol(), id.Cluster(), id.Item())
		}
	}
	fmt.Fprint(w, "}\n")
	for _, full := range inner {
		fmt.Fprintln(w)
		if err := a.writeNames(w, t, full); err != nil {
			return err
		}
	}
	return nil
}

// helpSource returns the help texts of instance domains and metrics in the source form that
// newhelp(1) compiles.
func (a *Agent) helpSource() []byte {
	var b bytes.Buffer
	r := &Request{Client: NewClient(0, 0)}
	entry := func(key string, of pdu.TextTarget) {
		line, err1 := a.Text(context.Background(), r, of, pdu.TextOneLine)
		help, err2 := a.Text(context.Background(), r, of, pdu.TextHelp)
		if err1 != nil && err2 != nil {
			return
		}
		line, rest := splitLine("@ "+key+" "+strings.ReplaceAll(line, "\n", " "), len("@ "+key))
		b.WriteString(line + "\n")
		if rest != "" {
			help = strings.TrimSuffix(rest+"\n"+help, "\n")
		}
		if help == "" {
			return
		}
		for l := range strings.SplitSeq(help, "\n") {
			for more := true; more; more = l != "" {
				if strings.HasPrefix(l, "#") || strings.HasPrefix(l, "@") {
					l = " " + l // or it would begin a comment or an entry
				}
				line, l = splitLine(l, 0)
				b.WriteString(line + "\n")
			}
		}
	}
	t := a.snapshot()
	for s := range t.indoms.all() {
		entry(fmt.Sprintf("%s.%d", a.symbol(), s), pdu.TextOfInDom(pdu.MakeInDom(a.Domain, int(s))))
	}
	has := map[pdu.PMID]bool{}
	for name, id := range t.tree.All() {
		if !has[id] { // an alias has the entry of its metric
			entry(name, pdu.TextOfMetric(id))
		}
		has[id] = true
	}
	return b.Bytes()
}

// maxHelpLine is the maximum length of a line in a help source. newhelp(1) warns of longer lines
// and splits them anywhere.
const maxHelpLine = 126

// splitLine splits text that is too long for a line at a space after its first beginning bytes. A
// word that is too long stays whole.
func splitLine(s string, beginning int) (line, rest string) {
	if len(s) <= maxHelpLine {
		return s, ""
	}
	for beginning < len(s) && s[beginning] == ' ' {
		beginning++
	}
	at := strings.LastIndexByte(s[:maxHelpLine+1], ' ')
	if at <= beginning {
		n := strings.IndexByte(s[beginning:], ' ')
		if n < 0 {
			return s, ""
		}
		at = beginning + n
	}
	return s[:at], strings.TrimLeft(s[at:], " ")
}

// script returns a shell script that calls one function of PCP's pmdaproc.sh.
func (a *Agent) script(do string, roots []string) []byte {
	s := "#!/bin/sh\n" +
		". $PCP_DIR/etc/pcp.env\n" +
		". $PCP_SHARE_DIR/lib/pmdaproc.sh\n\n" +
		"iam=" + a.Name + "\n"
	if len(roots) != 1 || roots[0] != a.Name {
		s += "pmns_name=\"" + strings.Join(roots, " ") + "\"\n"
	}
	if a.StartsNotReady {
		s += "ipc_prot=\"binary notready\"\n"
	}
	s += "\npmdaSetup\n" + do + "\n"
	if do == "pmdaRemove" {
		s += "rm -f help.dir help.pag\n" // which pmdaInstall has made
	}
	return []byte(s + "exit\n")
}

// export prints or writes the files.
func (d *Daemon) export(c *command, p process) error {
	files, err := d.Agent.installFiles()
	if err != nil {
		return err
	}
	if c.print != "" {
		i := slices.IndexFunc(files, func(f InstallFile) bool { return f.Name == c.print })
		if i < 0 {
			var names []string
			for _, f := range files {
				names = append(names, f.Name)
			}
			return fmt.Errorf("--print %s: there is no such file, only %s", c.print, strings.Join(names, ", "))
		}
		_, err := p.stdout.Write(files[i].Data)
		return err
	}
	if err := d.install(c.install, files); err != nil {
		return err
	}
	_, err = io.WriteString(p.stdout, d.afterInstall(c.install))
	return err
}

// afterInstall tells the user what to do next. PCP's scripts work only in PCP's directory of
// agents.
func (d *Daemon) afterInstall(dir string) string {
	if conf, err := pcpconf.Load(""); err == nil {
		parent, err := os.Stat(filepath.Dir(dir))
		agents, noDir := os.Stat(conf.Get("PCP_PMDAS_DIR"))
		if err == nil && noDir == nil && os.SameFile(parent, agents) {
			return fmt.Sprintf("Installed in %s. Next, as root: cd %[1]s && ./Install\n", dir)
		}
	}
	kind := "binary"
	if d.Agent.StartsNotReady {
		kind = "binary notready"
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return fmt.Sprintf("Installed in %s. Next, add this line to a pmcd.conf, and start pmcd with -c and the name space -n %s:\n%s\t%d\tpipe\t%s\t%s -d %[4]d\n",
		dir, filepath.Join(dir, "root"), d.Agent.Name, d.Agent.Domain, kind, filepath.Join(dir, "pmda"+d.Agent.Name))
}

// install writes the files and the running program into a directory. If it cannot write one of
// them, it installs none.
func (d *Daemon) install(dir string, files []InstallFile) (err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	if filepath.Base(dir) != d.Agent.Name {
		return fmt.Errorf("--install %s: PCP's scripts want the directory to be called %s", dir, d.Agent.Name)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program, err := os.Open(self)
	if err != nil {
		return err
	}
	defer program.Close()
	for _, f := range d.Files {
		if _, err := os.Lstat(filepath.Join(dir, f.Name)); err != nil {
			files = append(files, f)
		}
	}
	files = append(files, InstallFile{Name: "pmda" + d.Agent.Name, Script: true})
	for _, f := range files {
		if info, err := os.Lstat(filepath.Join(dir, f.Name)); err == nil && info.IsDir() {
			return fmt.Errorf("--install %s: the directory %s is in the place of a file: choose another directory", dir, f.Name)
		}
	}
	if _, missing := os.Stat(dir); missing != nil {
		defer func() {
			if err != nil {
				os.Remove(dir)
			}
		}()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var written []string // the temporary names of the files
	defer func() {
		for _, name := range written {
			os.Remove(name)
		}
	}()
	for i, f := range files {
		mode := os.FileMode(0o644)
		if f.Script {
			mode = 0o755
		}
		var r io.Reader = bytes.NewReader(f.Data)
		if i == len(files)-1 {
			r = program
		}
		name, err := writeNew(dir, r, mode)
		if err != nil {
			return err
		}
		written = append(written, name)
	}
	for i, f := range files {
		if err := os.Rename(written[i], filepath.Join(dir, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

// writeNew writes a file with a new name in a directory.
func writeNew(dir string, r io.Reader, mode os.FileMode) (name string, err error) {
	f, err := os.CreateTemp(dir, ".install*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, r)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		os.Remove(f.Name())
	}
	return f.Name(), err
}
