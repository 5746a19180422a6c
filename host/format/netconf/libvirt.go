package netconf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"

	"fettle/host"
)

// libvirt reads the virtual networks of libvirt's qemu driver
// (libvirt.org/formatnetwork.html). The folder is for root alone.
func (r *reader) libvirt() {
	names, err := r.h.Glob(r.ctx, "/etc/libvirt/qemu/networks", "*.xml")
	r.problem(Libvirt, err)
	for _, f := range names {
		b := r.file(Libvirt, f)
		p, err := parseLibvirt(f, b)
		if err != nil {
			r.problem(Libvirt, err)
		}
		if p != nil {
			r.add(p)
		}
	}
}

// parseLibvirt reads one network. Nil: it makes no bridge of its own, as with
// <forward mode='bridge'>, where somebody else's bridge is used.
func parseLibvirt(file string, b []byte) (*profile, error) {
	p := &profile{manager: Libvirt, kind: "bridge", src: Source{Path: file}}
	d := xml.NewDecoder(bytes.NewReader(b))
	var depth int
	foreign := false
	for {
		tok, err := d.Token()
		line, _ := d.InputPos()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &host.SyntaxError{Path: file, Line: line, Msg: "not well-formed XML"}
		}
		switch e := tok.(type) {
		case xml.EndElement:
			depth--
		case xml.StartElement:
			depth++
			if depth != 2 {
				continue
			}
			src := Source{file, line}
			switch e.Name.Local {
			case "bridge":
				p.name = attr(e, "name")
			case "forward":
				switch attr(e, "mode") {
				case "bridge", "private", "vepa", "passthrough", "hostdev":
					foreign = true
				}
			case "mtu":
				n, err := strconv.ParseUint(attr(e, "size"), 10, 31)
				if err != nil {
					return nil, &host.SyntaxError{Path: file, Line: line, Msg: "mtu: not a number of bytes"}
				}
				p.say(src, KeyMTU, strconv.FormatUint(n, 10), fmt.Sprintf("<mtu size='%d'/>", n))
			}
		}
	}
	if foreign || p.name == "" {
		return nil, nil
	}
	p.match = named(p.name)
	return p, nil
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
