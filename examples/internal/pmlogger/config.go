package pmlogger

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/hint"
	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/internal/pmcpp"
	"github.com/pcp-go/pcp/pdu"
)

// A config is a parsed configuration.
type config struct {
	*logconf.Config
	name string // in messages
	text string // after the preprocessor
	err  error  // what is wrong with its syntax; what comes before that is in the Config
}

// findConfig returns the path of a configuration: that of the option, or a file of the directory of
// PCP's configurations.
func (p *program) findConfig() (path string, err error) {
	name := p.opts.config
	if name == "" {
		return "", nil
	}
	if _, err = os.Stat(name); err == nil {
		return name, nil
	}
	inDir := filepath.Join(p.configDir(), name)
	if _, err := os.Stat(inDir); err == nil {
		return inDir, nil
	}
	return "", hint.With(fmt.Errorf("%s: Cannot open config file \"%s\": %w", programName, name, pdu.FromError(err)),
		fmt.Sprintf("there is no file %s here or in %s: name another with -c", name, p.configDir()))
}

func (p *program) configDir() string {
	return filepath.Join(p.conf.Get("PCP_VAR_DIR"), "config", "pmlogger")
}

// readConfig reads the configuration. An error of the preprocessor is printed and ends the
// configuration, as with pmcpp(1).
func (p *program) readConfig(path string) (*config, error) {
	fmt.Fprintf(p.w, "preprocessor cmd: %s -rs -I %s %s\n", filepath.Join(p.conf.Get("PCP_BINADM_DIR"), "pmcpp"), p.configDir(), path)
	c := &config{Config: new(logconf.Config), name: path}
	source := io.Reader(os.Stdin)
	if path == "" {
		c.name = stdin
	} else {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%s: Cannot open config file \"%s\": %w", programName, path, pdu.FromError(err))
		}
		defer f.Close()
		source = f
	}
	c.text = p.preprocess(c.name, source)
	c.Config, c.err = logconf.Options{Default: p.opts.defaultInterval()}.Parse(c.name, strings.NewReader(c.text))
	return c, nil
}

// preprocess returns the configuration without directives, up to the first invalid one. logconf
// gets the same text as pmlogger(1) gets from pmcpp(1).
func (p *program) preprocess(name string, source io.Reader) string {
	pp := pmcpp.Config{Open: logconf.OpenFile, Dirs: []string{p.configDir()}, Shell: true, Restrict: true}.NewReader(name, source)
	defer pp.Close()
	var b strings.Builder
	for {
		line, err := pp.Next()
		if err == nil {
			fmt.Fprintf(&b, "# %d \"%s\"\n%*s%s\n", line.Number, line.File, line.Indent, "", line.Text)
			continue
		}
		end := pp.End()
		if wrong, ok := errors.AsType[*pmcpp.Error](err); ok {
			end = wrong.Line
			at := fmt.Sprintf("%s[%d]: %s", end.File, end.Number, end.Text)
			if strings.Contains(wrong.Msg, " at line ") { // which says where
				at = end.File + ":"
			}
			fmt.Fprintf(p.w, "pmcpp: %s\npmcpp: Error: %s\n", at, wrong.Msg)
		} else if err != io.EOF {
			fmt.Fprintf(p.w, "pmcpp: %s:\npmcpp: Error: %v\n", name, pdu.FromError(err))
		}
		fmt.Fprintf(&b, "# %d \"%s\"\n", end.Number, end.File)
		return b.String()
	}
}

// hint returns the position of a syntax error and the text that is allowed there.
func (c *config) hint() string {
	wrong, ok := errors.AsType[*logconf.SyntaxError](c.err)
	switch {
	case !ok:
		return ""
	case wrong.Column == 0:
		return fmt.Sprintf("%s: the file ends before the statement is complete", wrong.File)
	}
	text := fmt.Sprintf("%s, line %d, column %d: found %q", wrong.File, wrong.Line, wrong.Column, wrong.Found)
	if advice := hint.Words(wrong.Found, wrong.Want); advice != "" {
		text += "; " + advice
	}
	return text
}

// printError prints the syntax error.
func (c *config) printError(w io.Writer) {
	wrong, ok := errors.AsType[*logconf.SyntaxError](c.err)
	if !ok {
		fmt.Fprintf(w, "Specification error in configuration file (%s)\n%v\n", c.name, c.err)
		return
	}
	fmt.Fprintf(w, "Specification error in configuration file (%s)\n[line %d] %s\n", wrong.File, wrong.Line, wrong.Msg)
}
