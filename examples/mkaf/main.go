// Mkaf writes a folio of archives on standard output, given the names of some of their files. It is
// mkaf(1) of PCP.
//
//	mkaf 20261123.meta web2 >folio     # an archive, and all in the directory web2
//	pmafm folio list
//
// An argument that begins with "-" is passed to find(1), which searches the directories after it.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/internal/folio"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// creator is the tool that can replay any archive.
const creator = "pmchart"

// run makes a folio of the arguments.
func run(args []string, stdout, stderr io.Writer) (status int) {
	if len(args) == 0 {
		fmt.Fprintln(stdout, usage)
		return 1
	}
	if build.Asked(args) {
		io.WriteString(stdout, build.Text("mkaf"))
		return 0
	}
	bases, ok := collect(args, stderr)
	if !ok {
		fmt.Fprintln(stdout, usage)
		return 0
	}
	if len(bases) == 0 {
		fmt.Fprintln(stderr, "mkaf: Warning: no PCP archives found, so no folio created")
		return 1
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	f := folio.Folio{Creator: creator, Created: "on " + host + " at " + time.Now().Format(folio.Made.Date)}
	for _, base := range bases {
		set, err := archive.Options{AnyFeature: true}.Open(context.Background(), base)
		if err != nil {
			fmt.Fprintf(stderr, "mkaf: Warning: cannot extract hostname from archive \"%s\" ... skipped\n", base)
			continue
		}
		f.Archives = append(f.Archives, folio.Archive{Host: set.Label().Host, Base: base})
		set.Close()
	}
	if _, err := stdout.Write(folio.Made.Append(nil, f)); err != nil {
		fmt.Fprintf(stderr, "mkaf: %v\n", err)
		return 1
	}
	return 0
}

const usage = "Usage: mkaf [findopts] filename ..."

// collect returns the base names of the archives of the arguments in order. ok is false if an
// argument asks for help.
func collect(args []string, stderr io.Writer) (bases []string, ok bool) {
	var options []string
	for _, arg := range args {
		if len(arg) == 2 && arg[0] == '-' {
			return nil, false // "-?" is meant, but so it is with PCP's mkaf for any character
		}
		if strings.HasPrefix(arg, "-") {
			options = append(options, arg)
			continue
		}
		info, err := os.Stat(arg)
		switch {
		case err == nil && info.IsDir() && isWord(arg):
			for _, name := range search(arg, options, stderr) {
				if isArchive(name) {
					bases = append(bases, baseOf(name))
				}
			}
		case err != nil || !info.IsDir() && !info.Mode().IsRegular():
			fmt.Fprintf(stderr, "mkaf: %s: No such file\n", arg)
		case !isArchive(arg):
			fmt.Fprintf(stderr, "mkaf: %s: Not a PCP archive file\n", arg)
		default:
			bases = append(bases, baseOf(arg))
		}
	}
	slices.Sort(bases)
	return slices.Compact(bases), true
}

// search has find(1) look for files in a directory.
func search(dir string, options []string, stderr io.Writer) []string {
	// The words as the script has them, with a blank before options of the user's.
	words := " -follow"
	if len(options) == 0 {
		options = []string{"-follow"}
	} else {
		words = "  " + strings.Join(options, " ")
	}
	fmt.Fprintf(stderr, "Searching \"find %s%s ...\" ", dir, words)
	var names bytes.Buffer
	find := exec.Command("find", slices.Concat([]string{dir}, options, []string{"-type", "f", "-print"})...)
	find.Stdout, find.Stderr = &names, stderr
	if err := find.Run(); err != nil && find.ProcessState == nil {
		fmt.Fprintf(stderr, "mkaf: %v\n", err)
	}
	fmt.Fprintln(stderr, " done")
	return strings.FieldsFunc(names.String(), func(r rune) bool { return r == '\n' })
}

// isWord reports whether a name can be in a folio, whose words are separated by blanks.
func isWord(name string) bool { return name != "" && !strings.ContainsAny(name, " \t\n") }

// isArchive reports whether the contents of a file start like a file of an archive. A compressed
// file must have the suffix of its compression.
func isArchive(name string) bool {
	if !isWord(name) {
		return false
	}
	if f, err := os.Open(name); err == nil {
		defer f.Close()
		var head [7]byte // the length of the label, the beginning of its magic number
		if _, err := io.ReadFull(f, head[:]); err == nil && [3]byte(head[4:]) == [3]byte{0x50, 0x05, 0x26} {
			return true
		}
	}
	f, err := archive.Options{AnyFeature: true}.OpenFile(context.Background(), name)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.Label()
	return err == nil
}

// ofFile are the endings of the names of an archive's files.
var ofFile = regexp.MustCompile(`(\.(meta|index|[0-9]+))?(\.(xz|lzma|bz2|bz|gz|Z|z|zst))?$`)

// baseOf returns the base name of a file's archive.
func baseOf(name string) string { return ofFile.ReplaceAllString(name, "") }
