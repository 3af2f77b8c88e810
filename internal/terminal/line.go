package terminal

import (
	"io"
	"os"
)

// maxLine is how many bytes of a line are read.
const maxLine = 1024

// ReadLine reads a line of a terminal, without its line ending, for a program that prompts the
// user. Without echo the terminal does not show the line.
func ReadLine(f *os.File, echo bool) (string, error) {
	if !echo {
		restore, err := hideInput(f)
		if err != nil {
			return "", err
		}
		defer restore()
	}
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := f.Read(b)
		if n == 1 && b[0] != '\n' && b[0] != '\r' {
			if len(line) < maxLine {
				line = append(line, b[0])
			}
			continue
		}
		if err == io.EOF && len(line) > 0 {
			err = nil
		}
		return string(line), err
	}
}
