package message

import (
	"net/netip"
	"regexp"
	"strings"

	"fettle/internal/lazy"
)

// kind is a type of placeholder.
type kind struct {
	form   string            // as a regular expression
	ok     func(string) bool // what the expression cannot say; nil: nothing
	sample string
}

const (
	sdDisk   = `(?:sd|hd|vd|xvd)[a-z]{1,3}\d*|nvme\d+(?:c\d+)?n\d+(?:p\d+)?|(?:mmcblk|loop)\d+(?:p\d+)?|dasd[a-z]+\d*|pmem\d+(?:p\d+)?`
	mdArray  = `md(?:\d+|_[\w.-]+)(?:p\d+)?`
	suffixes = `service|socket|mount|automount|swap|timer|path|slice|scope|target|device`
)

var kinds = map[string]kind{
	"disk":   {form: sdDisk, sample: "sdb"},
	"md":     {form: mdArray, sample: "md0"},
	"dm":     {form: `dm-\d+`, sample: "dm-3"},
	"dev":    {form: sdDisk + `|` + mdArray + `|dm-\d+`, sample: "sdb1"},
	"nvme":   {form: `nvme\d+`, sample: "nvme0"},
	"ata":    {form: `ata\d+(?:\.\d+)?`, sample: "ata3"},
	"unit":   {form: `[\w@:.\\-]+\.(?:` + suffixes + `)`, sample: "backup.service"},
	"device": {form: `dev-[\w@:.\\-]+\.device`, sample: "dev-sdb1.device"},
	"iface":  {form: `[A-Za-z][\w.@-]{0,14}`, ok: isInterface, sample: "enp3s0"},
	"path":   {form: `/[^\s"'<>]*`, sample: "/srv/data/file"},
	"ip":     {form: `[0-9a-fA-F:.]+(?:%[\w.-]+)?`, ok: isAddress, sample: "192.0.2.7"},
	"mac":    {form: `(?:[0-9a-fA-F]{2}:){5,13}[0-9a-fA-F]{2}`, sample: "52:54:00:12:34:56"},
	"pid":    {form: `\d{1,10}`, sample: "4711"},
	"n":      {form: `-?\d[\d.,]*`, sample: "42"},
	"size":   {form: `\d[\d.,]* ?(?:[kKMGTP]i?)?B?`, sample: "512M"},
	"hex":    {form: `(?:0x)?[0-9a-fA-F]+`, sample: "7f3c2a10"},
	"time":   {form: `[0-9][0-9A-Za-z:.+-]*`, sample: "2026-01-02T03:04:05Z"},
	"span":   {form: `(?:\d+(?:\.\d+)?(?:d|h|min|s|ms|us) ?)+`, sample: "1min 30s"},
	"word":   {form: `[^\s"']+`, sample: "something"},
	"name":   {form: `[^\s()\[\]"',;]+(?: [^\s()\[\]"',;]+){0,2}`, sample: "java"},
	"user":   {form: `[\w.@$\\-]+`, sample: "alice"},
	"host":   {form: `[A-Za-z0-9][\w.:-]*`, sample: "web1.example.com"},
	"uuid":   {form: `[0-9A-Za-z][0-9A-Za-z_.:\\-]*`, sample: "0b7c1b1e-5a41-4f6d-9d3c-0a4f1f2e3d4c"},
	"url":    {form: `[a-z]+://[^\s'"]+`, sample: "https://deb.example.com/debian"},
	"text":   {form: `.*`, sample: "something else"},
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

var (
	blockDevice = lazy.Regexp(`^(?:` + sdDisk + `|` + mdArray + `|dm-\d+|nvme\d+|ata\d+(?:\.\d+)?|s[rdg]\d*|fd\d+|usb\d*|tty\w*)$`)
	anyField    = lazy.Regexp(`<([^<>]*)>`)
)

// isInterface leaves out what the kernel names in the same place of other messages.
func isInterface(s string) bool { return !blockDevice().MatchString(s) }

// alternatives are the choices of a placeholder such as <Kill|Killed>.
func alternatives(inside string) []string {
	if !strings.Contains(inside, "|") {
		return nil
	}
	return strings.Split(inside, "|")
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = regexp.QuoteMeta(w)
	}
	return strings.Join(out, "|")
}
