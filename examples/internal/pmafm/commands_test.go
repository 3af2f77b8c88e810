package pmafm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestCommands runs commands with tools that print their arguments. The folio has two archives. One
// of them is missing.
func TestCommands(t *testing.T) {
	dir := t.TempDir()
	source, err := filepath.Abs("../../../archive/testdata/v3")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"config/pmafm", "bin"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"folio":              "PCPFolio\nVersion: 1\nCreated: on web1 at noon\nCreator: pmone view\nArchive: vm " + source + "\nArchive: web2 none\n",
		"view":               "",
		"config/pmafm/tools": "# tools\nMULTI=pmall\nSINGLE=\"pmone pmlast\" # more\nSPECIAL='pmlast'\nREPLAY=pmone\n",
		"bin/pmone":          "#!/bin/sh\necho pmone $*\n",
		"bin/pmall":          "#!/bin/sh\necho pmall $*\n",
		"bin/pmlast":         "#!/bin/sh\necho pmlast $*\nexit 2\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PCP_VAR_DIR=" + dir, "HOME=" + dir, "PATH=" + filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH")}
	program := pcptest.Build(t, "./examples/pmafm")
	for _, tt := range []struct{ input, want string }{
		{"selections", "Archive: SOURCE\nArchive: none\n"},
		{"archives 2,v3\nhosts web2\nselections", "Warning: archive \"v3\" not in folio ... ignored\npmafm> pmafm> Archive: none\n"},
		{"check", "Archive: SOURCE ... OK\nArchive: none ... Errors\n\tNo such file: none.index\n\tNo such file: none.meta\n\tNo such file: none.0\n"},
		{"archives 1\nlist", "pmafm> \nPCP Archive Folio: folio\nCreated: on web1 at noon\nCreator: pmone view\n\n" +
			"Ordinal Hostname             Archive Basename\n  [  1] vm                   SOURCE\n  [  2] web2                 none\nArchive Selections: SOURCE\n"},
		{"pmone x", "Note: running pmone serially, once per archive\nHost: vm Archive: SOURCE\npmone -a SOURCE x\nHost: web2 Archive: none\npmone -a none x\n"},
		{"run pmall x", "pmall -a SOURCE -a none x\n"},
		{"archives 2\nrun pmlast x", "pmafm> Host: web2 Archive: none\npmlast x none\n"},
		{"archives 1\nreplay", "pmafm> Configuration File: view\nHost: vm Archive: SOURCE\npmone -a SOURCE -c view\n"},
		{"run pmnone", "Error: Unknown PCP tool: pmnone\nKnown PCP tools:\n\tpmall pmlast pmone\n"},
		{"x\nq", "Unknown command \"x\" ... enter \"help\" for more information\npmafm> "},
	} {
		want := "pmafm> " + strings.ReplaceAll(tt.want, "SOURCE", source)
		if !strings.HasSuffix(tt.input, "q") {
			want += "pmafm> \n"
		}
		got, errs, status := pcptest.RunIn(t, dir, env, tt.input+"\n", program, "folio")
		if diff := cmp.Diff(want, got); diff != "" || errs != "" || status != 0 {
			t.Errorf("%q: exit status %d (-want +got):\n%s%s", tt.input, status, diff, errs)
		}
	}
	if _, _, status := pcptest.RunIn(t, dir, env, "", program, "folio", "pmone"); status != 0 {
		t.Errorf("exit status %d, want that of the tool", status)
	}
}

func TestAssign(t *testing.T) {
	values := map[string]string{}
	assign("#A=1\nA=\"x y\"\n  B='$A'\nC=\"$A ${A}z $NONE\" # D=1\nE=$A\nif true; then F=1; fi\n", values)
	want := map[string]string{"A": "x y", "B": "$A", "C": "x y x yz ", "E": "x y"}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
