package pmdumplog

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// printRaw prints the bytes of the framed records of one file.
func printRaw(out *bufio.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(out, "Raw dump of physical archive file \"%s\" ...\n", name)
	in := bufio.NewReader(f)
	for offset := int64(0); ; {
		var word [4]byte
		if n, err := io.ReadFull(in, word[:]); err != nil {
			if n > 0 {
				fmt.Fprint(out, "Unexpected EOF\n")
			}
			return nil
		}
		length := int32(binary.BigEndian.Uint32(word[:]))
		fmt.Fprintf(out, "Dump ... record len: %d @ offset: %d", length, offset)
		if !printRawRecord(out, in, length) {
			return nil
		}
		offset += int64(length)
	}
}

const (
	rawPerLine = 32 // bytes
	rawPerWord = 4
)

// printRawRecord prints the rest of a record after its length. It reports whether the record is
// complete.
func printRawRecord(out *bufio.Writer, in *bufio.Reader, length int32) bool {
	for i := range int64(length) - 8 {
		c, err := in.ReadByte()
		if err != nil {
			fmt.Fprint(out, "Unexpected EOF\n\nUnexpected EOF\n")
			return false
		}
		switch {
		case i%rawPerLine == 0:
			out.WriteString("\n ")
		case i%rawPerWord == 0:
			out.WriteByte(' ')
		}
		out.Write(hex.AppendEncode(out.AvailableBuffer(), []byte{c}))
	}
	out.WriteByte('\n')
	var word [4]byte
	if _, err := io.ReadFull(in, word[:]); err != nil {
		fmt.Fprint(out, "Unexpected EOF\n")
		return false
	}
	if trailer := int32(binary.BigEndian.Uint32(word[:])); trailer != length {
		fmt.Fprintf(out, "Trailer botch: %d != %d\n", trailer, length)
		return false
	}
	return true
}
