package apigolden

import (
	"flag"
	"strings"
	"testing"
)

var systems = flag.Bool("systems", false, "type-check the module for other systems")

// TestSystems type-checks the module and its tests as a compiler for other
// systems and word sizes would.
func TestSystems(t *testing.T) {
	if !*systems {
		t.Skip("takes a minute; -args -systems runs it")
	}
	for _, system := range []string{
		"darwin/arm64", "freebsd/amd64", "linux/386", "linux/arm64", "linux/mips", "linux/riscv64",
		"windows/amd64",
	} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			name, arch, _ := strings.Cut(system, "/")
			c := listed(t, name, arch, "-test")
			c.bodies = true
			checked := 0
			for _, s := range c.ordered {
				if !s.ours() || strings.HasSuffix(s.ImportPath, ".test") {
					continue // the main function of a test program is generated
				}
				if _, err := c.check(s.ImportPath); err != nil {
					t.Error(err)
				}
				checked++
			}
			if checked == 0 {
				t.Error("there are no packages")
			}
		})
	}
}
