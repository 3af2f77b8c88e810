package pcptool

import (
	"slices"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// AddOptions adds a part with a heading to the options and to the usage message.
func (c *Command) AddOptions(heading string, options ...tool.Option) {
	c.Options = append(append(c.Options, tool.Option{Heading: heading}), options...)
}

// parser is the parser of the command's options.
func (c *Command) parser() *getopt.Set {
	s := &getopt.Set{Program: c.Name, Synopsis: c.Synopsis, InOrder: c.InOrder}
	for _, o := range c.Options {
		s.Options = append(s.Options, getopt.Option(o))
	}
	return s
}

// hasLetter reports whether the command has an option of a letter.
func (c *Command) hasLetter(letter byte) bool {
	return slices.ContainsFunc(c.Options, func(o tool.Option) bool { return o.Short == letter })
}
