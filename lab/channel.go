package lab

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// The guest talks over a serial line of its own, which the kernel's console
// does not share. A frame is one line, "@LENGTH CRC BASE64": a line that was
// mangled nevertheless is noticed and not believed.

func writeFrame(w io.Writer, m message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "@%d %08x %s\n", len(b), crc32.ChecksumIEEE(b), base64.StdEncoding.EncodeToString(b))
	return err
}

// maxFrame bounds a line from the guest, and maxTalk all it may say, in bytes.
const (
	maxFrame = 8 << 20
	maxTalk  = 64 << 20
)

// frameError is a channel that can no longer be believed.
type frameError struct{ msg string }

func (e *frameError) Error() string { return e.msg }

// readFrames calls each for every whole frame until r ends. Lines that are no
// frames are passed over (firmware writes to the line before the kernel does);
// a frame that is damaged is an error.
func readFrames(r io.Reader, each func(message)) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), maxFrame)
	for said := 0; sc.Scan(); {
		if said += len(sc.Bytes()); said > maxTalk {
			return &frameError{fmt.Sprintf("the guest said more than %d MiB", maxTalk>>20)}
		}
		line := strings.TrimSpace(sc.Text())
		at := strings.LastIndexByte(line, '@')
		if at < 0 {
			continue
		}
		m, err := parseFrame(line[at:])
		if err != nil {
			return err
		}
		each(m)
	}
	if errors.Is(sc.Err(), bufio.ErrTooLong) {
		return &frameError{fmt.Sprintf("a line of more than %d MiB", maxFrame>>20)}
	}
	return sc.Err()
}

func parseFrame(line string) (message, error) {
	var n int
	var sum uint32
	var enc string
	var m message
	if _, err := fmt.Sscanf(line, "@%d %x %s", &n, &sum, &enc); err != nil {
		return m, &frameError{"damaged frame from the guest: " + err.Error()}
	}
	b, err := base64.StdEncoding.DecodeString(enc)
	if err != nil || len(b) != n || crc32.ChecksumIEEE(b) != sum {
		return m, &frameError{fmt.Sprintf("damaged frame from the guest: %d bytes of %d, checksum %08x", len(b), n, sum)}
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, &frameError{"a frame from the guest: " + err.Error()}
	}
	return m, nil
}
