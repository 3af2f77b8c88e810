package pmafm

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/pcpconf"
)

// tools are PCP's tools by the way they are run. The files of pmafm's configuration assign them in
// shell syntax:
//
//	MULTI     those that take several archives at once, after -a each
//	SINGLE    others
//	SPECIAL   those among them that take the archive as their last argument
//	REPLAY    those that can replay a folio that they have made
type tools map[string][]string

// readTools reads the configuration from PCP's directory and the user's.
func readTools() (tools, error) {
	conf, err := pcpconf.Load("")
	if err != nil {
		return nil, err
	}
	dir := conf.Get("PCP_VAR_DIR") + "/config/pmafm/"
	values := map[string]string{}
	if !readDir(dir, values) {
		err = fmt.Errorf("no PCP tool configurations in %s", dir)
	}
	if home := os.Getenv("HOME"); home != "" {
		readDir(home+"/.pcp/pmafm/", values)
	}
	t := tools{}
	for _, name := range []string{"MULTI", "SINGLE", "SPECIAL", "REPLAY"} {
		t[name] = strings.Fields(values[name])
	}
	return t, err
}

// readDir reads the files of a directory, without its subdirectories. It reports whether it has
// any.
func readDir(dir string, values map[string]string) (found bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		found = true
		assign(string(text), values)
	}
	return found
}

var (
	assignment = regexp.MustCompile(`(?m)^[ \t]*([A-Z]+)=(?:"([^"]*)"|'([^']*)'|([^ \t\n;#]*))`)
	reference  = regexp.MustCompile(`\$(?:([A-Z]+)|\{([A-Z]+)\})`)
)

// assign executes the assignments of a shell text. It supports quoted values and references to
// other variables in them.
func assign(text string, values map[string]string) {
	for _, a := range assignment.FindAllStringSubmatch(text, -1) {
		value := a[3]
		if value == "" {
			value = reference.ReplaceAllStringFunc(a[2]+a[4], func(ref string) string {
				return values[strings.Trim(ref, "${}")]
			})
		}
		values[a[1]] = value
	}
}

// known returns the sorted names of all tools.
func (t tools) known() []string {
	all := map[string]bool{}
	for _, name := range append(slices.Clone(t["MULTI"]), t["SINGLE"]...) {
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// lineWidth is the width of the lines that list tools.
const lineWidth = 74

// print prints the names of all tools.
func (t tools) print() {
	fmt.Println("Known PCP tools:")
	line := ""
	for _, name := range t.known() {
		switch {
		case line == "":
			line = name
		case len(line)+1+len(name) > lineWidth:
			fmt.Println("\t" + line)
			line = name
		default:
			line += " " + name
		}
	}
	fmt.Println("\t" + line)
}

// run runs a tool on the selected archives, once if it takes several.
func (m *manager) run(args []string) int { return m.runTool(args, false) }

// repeat runs a tool once for each archive.
func (m *manager) repeat(args []string) int { return m.runTool(args, true) }

func (m *manager) runTool(args []string, once bool) (status int) {
	if len(args) == 0 {
		fmt.Println("Error: missing PCP tool name")
		m.tools.print()
		return 0
	}
	tool, args := args[0], args[1:]
	name := filepath.Base(tool)
	list := m.selected()
	switch {
	case !slices.Contains(m.tools.known(), name):
		fmt.Printf("Error: Unknown PCP tool: %s\n", tool)
		m.tools.print()
		return 0
	case len(list) == 0:
		fmt.Println("Error: no selected archives")
		return 0
	case slices.Contains(m.tools["MULTI"], name) && !once:
		var archives []string
		for _, e := range list {
			archives = append(archives, "-a", e.path)
		}
		return execTool(tool, append(archives, args...))
	}
	if len(list) > 1 {
		fmt.Printf("Note: running %s serially, once per archive\n", tool)
	}
	special := slices.Contains(m.tools["SPECIAL"], name)
	for _, e := range list {
		fmt.Printf("Host: %s Archive: %s\n", e.host, e.path)
		if special {
			execTool(tool, append(slices.Clone(args), e.path))
		} else {
			status = execTool(tool, append([]string{"-a", e.path}, args...))
		}
	}
	return status
}

// replay runs the tool that made the folio, if it can replay it.
func (m *manager) replay([]string) int {
	if m.Creator == "" {
		fmt.Println("Error: cannot determine folio creator")
		return 0
	}
	var args []string
	if m.Config != "" {
		config := m.path(m.Config)
		fmt.Println("Configuration File: " + config)
		if _, err := os.Stat(config); err != nil {
			fmt.Println("Error: cannot find Configuration File")
			return 0
		}
		args = []string{"-c", config}
	}
	if !slices.Contains(m.tools["REPLAY"], m.Creator) {
		fmt.Printf("Error: I don't know how to replay a folio created by \"%s\"\n"+
			"       ... choose a PCP tool and use the \"run\" command to replay\n", m.Creator)
		return 0
	}
	return m.run(append([]string{m.Creator}, args...))
}

// toolCommand returns a command that runs a tool of PATH, or of PCP's directory.
func toolCommand(tool string, args ...string) *exec.Cmd {
	cmd := exec.Command(tool, args...)
	if errors.Is(cmd.Err, exec.ErrNotFound) {
		if conf, err := pcpconf.Load(""); err == nil {
			cmd = exec.Command(filepath.Join(conf.Get("PCP_BINADM_DIR"), tool), args...)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd
}

// execTool runs a tool and returns its exit status.
func execTool(tool string, args []string) int {
	cmd := toolCommand(tool, args...)
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		fmt.Fprintf(os.Stderr, "pmafm: %s: not found\n", tool)
		return 127
	}
	return cmd.ProcessState.ExitCode()
}
