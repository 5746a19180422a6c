// Package container reports whether a host is a container, and which of the kernel's settings
// it may then change.
package container

import (
	"context"
	"errors"
	"strings"

	"fettle/host"
)

// initPIDs is the kernel's first PID namespace (PROC_PID_INIT_INO,
// include/linux/proc_ns.h, since 3.8).
const initPIDs = "pid:[4026531836]"

// Of names what keeps the container that h is: "lxc", "docker", or "container"
// where it does not say; empty where h is none, or where nobody can tell.
//
// systemd writes the name that its container manager gives it (container
// interface, systemd.io); docker and podman leave a file; a PID namespace that
// is not the kernel's first shows the others.
func Of(ctx context.Context, h *host.Host) string {
	if !h.Running() {
		return ""
	}
	if name, err := h.ReadString(ctx, "/run/systemd/container"); err == nil && name != "" {
		return strings.TrimSpace(name)
	}
	ns, err := h.Readlink(ctx, "/proc/self/ns/pid")
	first := err == nil && ns == initPIDs
	for _, mark := range []struct{ file, name string }{{"/.dockerenv", "docker"}, {"/run/.containerenv", "podman"}} {
		if ok, err := h.Exists(ctx, mark.file); err == nil && ok && (!first || apart(ctx, h)) {
			return mark.name
		}
	}
	if err == nil && strings.HasPrefix(ns, "pid:[") && !first {
		return "container"
	}
	return ""
}

// NetworkGiven reports whether whoever runs the container that h is sets up its network. A container
// of systemd-nspawn boots a whole system, which does so by itself.
func NetworkGiven(ctx context.Context, h *host.Host) bool {
	c := Of(ctx, h)
	return c != "" && c != "systemd-nspawn"
}

// apart reports whether the host has another root than the kernel's init: so has a
// container that shares the PID namespace (docker run --pid=host), and so has not
// a virtual machine whose disk was made from an image with docker's mark in it.
func apart(ctx context.Context, h *host.Host) bool {
	own, err1 := rootMount(ctx, h, "/proc/self/mountinfo")
	inits, err2 := rootMount(ctx, h, "/proc/1/mountinfo")
	return err1 == nil && err2 == nil && own != inits
}

// rootMount is the kernel's number of what is mounted at / (proc_pid_mountinfo(5)).
func rootMount(ctx context.Context, h *host.Host, file string) (string, error) {
	text, err := h.ReadString(ctx, file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == "/" {
			return f[0], nil
		}
	}
	return "", errors.New(file + " has no mount at /")
}

// own are the settings below /proc/sys that each container has for itself:
// those of its network, IPC, UTS and user namespaces (namespaces(7)).
var own = []string{
	"net/",
	"user/",
	"fs/mqueue/",
	"kernel/sem",
	"kernel/shm",
	"kernel/msg",
	"kernel/auto_msgmni",
	"kernel/hostname",
	"kernel/domainname",
}

// global are those below net/ that are the whole kernel's: other network
// namespaces do not have them, or read them only (the kernel's
// Documentation/networking, net_conntrack_standalone.c, neighbour.c).
var global = []string{
	"net/core/rmem_",
	"net/core/wmem_",
	"net/core/optmem_max",
	"net/core/netdev_",
	"net/core/dev_weight",
	"net/core/bpf_",
	"net/core/message_",
	"net/netfilter/nf_conntrack_max",
	"net/netfilter/nf_conntrack_buckets",
	"net/nf_conntrack_max",
	"net/ipv4/neigh/default/gc_thresh",
	"net/ipv6/neigh/default/gc_thresh",
	"net/ipv4/tcp_mem",
	"net/ipv4/udp_mem",
	"net/bridge/",
}

// Has reports whether a container has a setting for itself; key is a path below
// /proc/sys.
func Has(key string) bool { return hasOneOf(key, own) && !hasOneOf(key, global) }

func hasOneOf(key string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}
