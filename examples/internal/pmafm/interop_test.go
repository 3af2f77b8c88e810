package pmafm

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

const archives = "/var/lib/pcp/testsuite/archives/"

var all = flag.Bool("all", false, "compare all commands, not every eighth")

// ofScript matches errors of the shell script that is PCP's pmafm.
var ofScript = regexp.MustCompile(`(?m)^(basename: missing operand|Try 'basename --help' .*|Usage: _is_archive file)\n`)

// folios makes a directory with folios: "good" and "sub/good" of mkaf, with two archives each, and
// others with mistakes.
func folios(t *testing.T) (dir string) {
	t.Helper()
	pcptest.Need(t, "pmafm", "mkaf", "pmval", "pmdumplog", archives)
	dir = t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"sub", "home", "home/.pcp", "home/.pcp/pmafm", "bin"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, archive := range []string{"ok-foo", "ok-mv-foo"} {
		paths, err := filepath.Glob(archives + archive + ".*")
		if err != nil || len(paths) < 3 {
			t.Fatal(paths, err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			write(filepath.Base(path), string(b))
			write("sub/"+filepath.Base(path), string(b))
		}
	}
	for _, d := range []string{"", "sub"} {
		folio, errs, status := pcptest.RunIn(t, filepath.Join(dir, d), nil, "", "mkaf", "ok-foo.meta", "ok-mv-foo.0")
		if status != 0 {
			t.Fatalf("mkaf: %s", errs)
		}
		write(filepath.Join(d, "good"), folio)
	}
	write("nothing", "PCPFolio\nVersion: 1\n")
	write("order", "Version: 2\nCreator:\nArchive: gonzo ok-foo\nPCPFolio")
	write("magic", "Version: 1\nArchive: gonzo ok-foo\n")
	write("version", "PCPFolio\nArchive: gonzo ok-foo\n")
	write("bad", "PCPFolio\nVersion: 1\n# x\n\nCreated: on x at y\nCreator: pmreplay view.conf\nArchive: other ok-foo\nArchive: gonzo missing\n"+
		"Archive: gonzo "+dir+"/sub/ok-foo\nJunk: x\n")
	write("view.conf", "")
	write("lost.conf", "PCPFolio\nVersion: 1\nCreator: pmreplay none.conf\nArchive: other ok-foo\n")
	write("home/.pcp/pmafm/mine", "# mine\nSINGLE=\"$SINGLE pmshow pmgone\"\nREPLAY='pmreplay'\nMULTI=\"${MULTI} pmreplay\"\nSPECIAL=\"$SPECIAL pmlast\"\n")
	for _, tool := range []string{"pmshow", "pmreplay"} {
		write("bin/"+tool, "#!/bin/sh\necho $0 \"$@\" | sed 's,.*/bin/,,'\nexit 3\n")
	}
	return dir
}

// TestInteropCommands compares the output of PCP's pmafm and ours byte for byte, without the errors
// of the script itself.
func TestInteropCommands(t *testing.T) {
	dir := folios(t)
	ours := pcptest.Build(t, "./examples/pmafm")
	env := []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}
	n := 0
	for line := range strings.Lines(strings.TrimSpace(`
|
-?|
--help|
none|
magic|
version list|
nothing list|
nothing check|
nothing run pmval x|
nothing selections|
nothing hosts a|
nothing remove|
order list|
order replay|
order selections|
good list|
good list verbose|
good lis v|
good list foo bar|
good LIST|
good check x|
good selections|
good sel|
good help|
good ?|
good h|
good r|
good rep|
good rem|
good helpx|
good foo|
good quit|
good archives zz,1|
good hosts zz gonzo|
good replay|
good run pmval -s 1 sample.bin|
good pmdumplog -l|
good repeat pmval -s 1 -i bin-100 sample.bin|
good run pmshow a b|
good repeat pmreplay a b|
good run pmreplay a b|
good run ./pmval x|
sub/good list|
sub/good list v|
sub/good check|
sub/good run pmshow|
./good list|
.//good list v|
././good list|
./good run pmshow|
./good remove|
sub/../good selections|
./magic list|
././magic list|
sub/../magic list|
./nosuch list|
bad list|
bad check|
bad selections|
bad replay|
bad list verbose|
lost.conf replay|
good|selections;archives 2;selections;list;archives;selections;quit;list
good|archives ok-foo,2;list;hosts gonzo;list;hosts zz;selections;hosts;archives zz;selections
good|;   ;  list  ;# comment;list # x;archives 1 2;selections;archives 1,2,1;selections;list;archives 01;archives -1;archives 0;archives 3
good|archives 2 1;hosts gonzo;selections;list;run pmshow x;repeat pmreplay y;pmreplay
good|archives 1;run pmval -s 1 sample.colour;replay;q
bad|hosts other;selections;archives 2;selections;run pmshow;list;archives;replay
`)) {
		if n++; !*all && n%8 != 0 {
			continue
		}
		args, input, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "|")
		if input != "" {
			input = strings.ReplaceAll(input, ";", "\n") + "\n"
		}
		run := func(program string) pcptest.Output {
			out, errs, status := pcptest.RunIn(t, dir, env, input, append([]string{program}, strings.Fields(args)...)...)
			errs = ofScript.ReplaceAllString(errs, "")
			if strings.Contains(errs, ": not found") {
				errs = "not found"
			}
			return pcptest.Output{Stdout: out, Stderr: errs, Status: status}
		}
		want, got := run("pmafm"), run(ours)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pmafm %s (-PCP +ours):\n%s", strings.TrimSpace(line), diff)
		}
	}
}

// TestInteropTools compares the lists of tools without a configuration of the user's own. With one,
// that of the script has empty lines.
func TestInteropTools(t *testing.T) {
	dir := folios(t)
	ours := pcptest.Build(t, "./examples/pmafm")
	for _, env := range [][]string{{"HOME=" + dir}, {"HOME=" + dir, "PCP_VAR_DIR=" + dir}} {
		for _, args := range [][]string{{"good", "run", "foo"}, {"good", "run"}} {
			want, _, _ := pcptest.RunIn(t, dir, env, "", append([]string{"pmafm"}, args...)...)
			got, _, _ := pcptest.RunIn(t, dir, env, "", append([]string{ours}, args...)...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v %v (-PCP +ours):\n%s", env, args, diff)
			}
		}
	}
}

// TestInteropRemove compares the commands that remove a folio in this directory. Those for another
// directory PCP's pmafm looks for in this one; ours are right.
func TestInteropRemove(t *testing.T) {
	dir := folios(t)
	ours := pcptest.Build(t, "./examples/pmafm")
	for _, folio := range []string{"good", "nothing", "order", "bad", "lost.conf"} {
		want, _, _ := pcptest.RunIn(t, dir, nil, "", "pmafm", folio, "remove")
		got, _, _ := pcptest.RunIn(t, dir, nil, "", ours, folio, "remove")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-PCP +ours):\n%s", folio, diff)
		}
	}
	text, _, _ := pcptest.RunIn(t, dir, nil, "", ours, "sub/good", "remove")
	if _, errs, status := pcptest.RunIn(t, dir, nil, text, "sh"); status != 0 {
		t.Fatalf("%s: %s", text, errs)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "sub")); err != nil || len(left) > 0 {
		t.Errorf("%s leaves %v, %v", text, left, err)
	}
}
