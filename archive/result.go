package archive

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/pdu"
)

// dataFormat returns the format of the data records of a version, without their length words.
func dataFormat(version int) pdu.Format {
	if version == 2 {
		return pdu.FormatLowRes
	}
	return pdu.FormatArchive
}

// Result decodes a record of KindResult or KindMark and copies the values to into. It checks every
// value block. A malformed record is pdu.ErrLogRec.
func (r *Record) Result(into *pdu.Result) error {
	if err := r.is(KindResult, KindMark); err != nil {
		return err
	}
	into.Format = dataFormat(r.version)
	err := into.Decode(r.body())
	if err == nil {
		err = into.Validate()
	}
	return r.decoded(into, err)
}

// resultInPlace is Result without a copy: into refers to Raw.
func (r *Record) resultInPlace(into *pdu.Result) error {
	into.Format = dataFormat(r.version)
	return r.decoded(into, into.DecodeValid(r.body()))
}

// decoded sets the time of a decoded result, or returns the error err of decoding with the place of
// the record.
func (r *Record) decoded(into *pdu.Result, err error) error {
	if err != nil {
		return r.wrap(flawed(pdu.ErrLogRec, "%v", err))
	}
	into.Time = r.Time // Decode does not set the time 0
	return nil
}

// find finds the value sets that s selects in a data record, and reports whether it found any.
func (r *Record) find(s *pdu.Selection) (bool, error) {
	found, err := s.Find(dataFormat(r.version), r.body())
	if err != nil {
		return false, r.wrap(flawed(pdu.ErrLogRec, "%v", err))
	}
	return found, nil
}

// body returns a data record without its length words.
func (r *Record) body() []byte { return r.Raw[4 : len(r.Raw)-4 : len(r.Raw)-4] }

// contains reports whether a data record has a value set of one of ids, without checking it.
func (r *Record) contains(ids []pdu.PMID) bool {
	at := 4 + timeLen(r.version)
	n, sets := binary.BigEndian.Uint32(r.Raw[at:]), r.Raw[at+4:len(r.Raw)-4]
	for ; n > 0 && len(sets) >= 8; n-- {
		head := binary.BigEndian.Uint64(sets) // PMID and number of values
		for _, id := range ids {
			if id == pdu.PMID(head>>32) {
				return true
			}
		}
		skip := uint64(8)
		if values := int32(head); values > 0 {
			skip += 4 + 8*uint64(values)
		}
		if skip > uint64(len(sets)) {
			break
		}
		sets = sets[skip:]
	}
	return false
}
