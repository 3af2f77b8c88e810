package sasl

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// These constants are the parts of a Berkeley DB hash table that the reader uses. All pages have
// the length that the first page gives.
//
//	page 0   12  uint32  magic
//	         16  uint32  version
//	         20  uint32  length of a page
//	         24  uint8   algorithm of encryption, 0 for none
//	         25  uint8   type, 8
//	         26  uint8   flags
//	others   20  uint16  number of items
//	         25  uint8   type, of pages of the table 2 or 13
//	         26  uint16  offset of each item
//
// Items are pairs of a key and its value. They fill the page from its end: each ends where the one
// before begins, and has a byte with its type, 1, before its text.
const (
	dbMagic     = 0x061561
	dbMagicAt   = 12
	dbVersionAt = 16
	dbPageLenAt = 20
	dbEncryptAt = 24
	dbItemsAt   = 20
	dbTypeAt    = 25
	dbFlagsAt   = 26
	dbHeaderLen = 26

	dbMeta     = 8
	dbUnsorted = 2
	dbSorted   = 13
	dbText     = 1

	dbMinPage = 512
	dbMaxPage = 64 << 10
)

var errDB = errors.New("a Berkeley DB file, but none that sasldb has")

// isDB reports whether a file is a hash table of Berkeley DB, and returns its byte order.
func isDB(b []byte) (binary.ByteOrder, bool) {
	if len(b) >= dbMinPage {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			if order.Uint32(b[dbMagicAt:]) == dbMagic {
				return order, true
			}
		}
	}
	return nil, false
}

// findDB finds the value of a key in a hash table of Berkeley DB, which it reads from the beginning
// to the end.
func findDB(b []byte, order binary.ByteOrder, key string) (value []byte, found bool, err error) {
	size := int(order.Uint32(b[dbPageLenAt:]))
	version := order.Uint32(b[dbVersionAt:])
	if size < dbMinPage || size > dbMaxPage || size&(size-1) != 0 || version < 7 || version > 10 ||
		b[dbTypeAt] != dbMeta || b[dbEncryptAt] != 0 || b[dbFlagsAt] != 0 {
		return nil, false, errDB
	}
	for b = b[min(size, len(b)):]; len(b) >= size; b = b[size:] {
		page := b[:size]
		if t := page[dbTypeAt]; t != dbUnsorted && t != dbSorted {
			continue
		}
		items := int(order.Uint16(page[dbItemsAt:]))
		if dbHeaderLen+2*items > size {
			return nil, false, errDB
		}
		end := size
		var k []byte
		for i := range items {
			start := int(order.Uint16(page[dbHeaderLen+2*i:]))
			if start < dbHeaderLen+2*items || start >= end {
				return nil, false, errDB
			}
			item := page[start:end]
			end = start
			switch {
			case i%2 == 0:
				k = item
			case len(k) > 0 && k[0] == dbText && string(k[1:]) == key:
				if item[0] != dbText {
					return nil, false, errDB
				}
				return bytes.Clone(item[1:]), true, nil
			}
		}
	}
	return nil, false, nil
}
