package otlp

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pmapi/export/internal/send"
)

// reply parses the body of a successful reply.
func reply(header http.Header, body []byte) (rejected int64, message string, err error) {
	if len(body) == 0 {
		return 0, "", nil
	}
	switch mediaType(header) {
	case typeJSON:
		return parseResponse(body)
	case typeProtobuf:
		return parseProtobufResponse(body)
	}
	return 0, "", nil
}

// mediaType returns the media type of a body, without parameters.
func mediaType(header http.Header) string {
	t, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return t
}

// parseResponse parses an ExportMetricsServiceResponse in JSON. It returns the number of rejected
// points, which is not negative, and the reason.
func parseResponse(body []byte) (rejected int64, message string, err error) {
	var r struct {
		PartialSuccess struct {
			RejectedDataPoints json.RawMessage
			ErrorMessage       string
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return 0, "", fmt.Errorf("otlp: reply: %w", err)
	}
	message = send.Shortened(r.PartialSuccess.ErrorMessage)
	// An int64 is a string, or a number from lenient receivers.
	text := strings.Trim(string(r.PartialSuccess.RejectedDataPoints), `"`)
	if text == "" || text == "null" {
		return 0, message, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, message, fmt.Errorf("otlp: reply: rejectedDataPoints is %s", send.Shortened(text))
	}
	return n, message, nil
}

// parseProtobufResponse is parseResponse for protobuf.
func parseProtobufResponse(body []byte) (rejected int64, message string, err error) {
	err = eachField(body, func(number, _ uint64, partial []byte) error {
		if number != 1 {
			return nil
		}
		return eachField(partial, func(number, v uint64, text []byte) error {
			switch number {
			case 1:
				if rejected = int64(v); rejected < 0 {
					rejected = 0
					return fmt.Errorf("rejected_data_points is %d", int64(v))
				}
			case 2:
				message = send.Shortened(string(text))
			}
			return nil
		})
	})
	if err != nil {
		return 0, message, fmt.Errorf("otlp: reply: %w", err)
	}
	return rejected, message, nil
}

// reason returns why a message was refused: the message of a Status, or plain text.
func reason(header http.Header, body []byte) string {
	switch mediaType(header) {
	case typeJSON:
		var status struct{ Message string }
		if json.Unmarshal(body, &status) != nil {
			return ""
		}
		return status.Message
	case typeProtobuf:
		message := ""
		if eachField(body, func(number, _ uint64, text []byte) error {
			if number == 2 {
				message = string(text)
			}
			return nil
		}) != nil {
			return ""
		}
		return message
	case "text/plain":
		return strings.TrimSpace(string(body))
	}
	return ""
}

var errProtobuf = errors.New("malformed protobuf")

// eachField calls f for each field of a message, with v for numbers and b for bytes.
func eachField(message []byte, f func(number, v uint64, b []byte) error) error {
	uvarint := func() (uint64, bool) {
		v, n := binary.Uvarint(message)
		message = message[max(n, 0):]
		return v, n > 0
	}
	for len(message) > 0 {
		tag, ok := uvarint()
		if !ok {
			return errProtobuf
		}
		var v uint64
		size := uint64(0)
		switch tag & 7 {
		case wireVarint:
			v, ok = uvarint()
		case wireFixed64:
			size = 8
		case wireBytes:
			size, ok = uvarint()
		case wireFixed32:
			size = 4
		default:
			ok = false
		}
		if !ok || size > uint64(len(message)) {
			return errProtobuf
		}
		b := message[:size]
		message = message[size:]
		if err := f(tag>>3, v, b); err != nil {
			return err
		}
	}
	return nil
}
