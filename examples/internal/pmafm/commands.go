package pmafm

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// commands are the commands by name, with the minimum length of an abbreviation.
var commands = []struct {
	name  string
	least int
	do    func(m *manager, args []string) (status int)
}{
	{"archives", 1, (*manager).selectArchives},
	{"check", 1, (*manager).check},
	{"debug", 1, func(*manager, []string) int { return 0 }}, // of PCP's script
	{"help", 2, printHelp},
	{"hosts", 2, (*manager).selectHosts},
	{"list", 1, (*manager).list},
	{"quit", 1, func(m *manager, _ []string) int { m.done = true; return 0 }},
	{"remove", 3, (*manager).remove},
	{"repeat", 4, (*manager).repeat},
	{"replay", 4, (*manager).replay},
	{"run", 2, (*manager).run},
	{"selections", 1, (*manager).printSelections},
}

// do executes a command.
func (m *manager) do(name string, args []string) (status int) {
	switch {
	case slices.Contains(m.tools.known(), name):
		return m.run(append([]string{name}, args...))
	case name == "?":
		return printHelp(m, args)
	}
	for _, c := range commands {
		if len(name) >= c.least && strings.HasPrefix(c.name, name) {
			return c.do(m, args)
		}
	}
	fmt.Printf("Unknown command \"%s\" ... enter \"help\" for more information\n", name)
	return 0
}

func printHelp(*manager, []string) int {
	fmt.Print(help)
	return 0
}

// splitList splits the arguments of a command that selects archives.
func splitList(args []string) []string {
	return strings.FieldsFunc(strings.Join(args, ","), func(r rune) bool { return r == ',' })
}

func (m *manager) selectArchives(args []string) int {
	m.archives = nil
	for _, arg := range splitList(args) {
		found := false
		for i, a := range m.Archives {
			if arg == a.Base || arg == strconv.Itoa(i+1) {
				m.archives, found = append(m.archives, i), true
			}
		}
		if !found {
			fmt.Printf("Warning: archive \"%s\" not in folio ... ignored\n", arg)
		}
	}
	return 0
}

func (m *manager) selectHosts(args []string) int {
	m.hosts = nil
	for _, arg := range splitList(args) {
		found := false
		for _, a := range m.Archives {
			found = found || a.Host == arg
		}
		if !found {
			fmt.Printf("Warning: host \"%s\" not in folio ... ignored\n", arg)
			continue
		}
		m.hosts = append(m.hosts, arg)
	}
	return 0
}

// An entry is a selected archive.
type entry struct{ host, path string }

// selected returns the selected archives.
func (m *manager) selected() (list []entry) {
	indexes := m.archives
	if indexes == nil {
		for i := range m.Archives {
			indexes = append(indexes, i)
		}
	}
	for _, i := range indexes {
		if a := m.Archives[i]; a.Base != "" && (m.hosts == nil || slices.Contains(m.hosts, a.Host)) {
			list = append(list, entry{a.Host, m.path(a.Base)})
		}
	}
	return list
}

func (m *manager) printSelections([]string) int {
	list := m.selected()
	if len(list) == 0 {
		fmt.Println("Error: no selected archives")
	}
	for _, e := range list {
		fmt.Println("Archive: " + e.path)
	}
	return 0
}

// list prints the contents of the folio. Like that of PCP's, the exit status is 1 unless archives
// are selected.
func (m *manager) list(args []string) int {
	option := strings.Join(args, " ")
	verbose := option != "" && strings.HasPrefix("verbose", option)
	if option != "" && !verbose {
		fmt.Printf("Illegal option \"%s\" ... ignored\n", option)
	}
	fmt.Printf("\nPCP Archive Folio: %s\n", m.name)
	if m.dir != "" {
		fmt.Printf("Folio Directory: %s\n", m.dir)
	}
	for _, line := range m.Head {
		fmt.Println(line)
	}
	fmt.Print("\nOrdinal Hostname             Archive Basename\n")
	for i, a := range m.Archives {
		fmt.Printf("  [%3d] %-20s %s\n", i+1, a.Host, a.Base)
		if verbose && a.Base != "" {
			printLabel(m.path(a.Base))
		}
	}
	if m.hosts != nil {
		fmt.Println("Host Selections: " + strings.Join(m.hosts, " "))
	}
	if m.archives == nil {
		return 1
	}
	var names []string
	for _, i := range m.archives {
		names = append(names, m.Archives[i].Base)
	}
	fmt.Println("Archive Selections: " + strings.Join(names, " "))
	return 0
}

// printLabel prints the label of an archive with pmdumplog.
func printLabel(path string) {
	var out strings.Builder
	cmd := toolCommand("pmdumplog", "-l", path)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "pmafm: pmdumplog: not found")
	}
	for line := range strings.Lines(out.String()) {
		fmt.Print("\t" + line)
	}
}
