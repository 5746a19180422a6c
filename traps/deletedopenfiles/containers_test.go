package deletedopenfiles

import "testing"

func TestInContainer(t *testing.T) {
	for _, c := range []struct {
		container string
		inside    []string
		want      string
	}{
		{"lxc/web1", []string{"init.scope", "nginx.service", "ssh.service"}, "restart them inside: lxc-attach -n web1 -- systemctl restart " +
			"nginx.service ssh.service"},
		{"lxc/web1", []string{"init.scope"}, "have the container's systemd start its new program: lxc-attach -n web1 -- systemctl daemon-reexec"},
		{"lxc/web1", []string{"session-1.scope", "user@0.service"}, "restart the container web1"},
		{"nspawn/deb12", []string{"cron.service"}, "restart them inside: systemctl --machine=deb12 restart cron.service"},
		{"docker/4f797c539e6c", nil, "docker restart 4f797c539e6c; if its image is old, create the container again from a current one"},
		{"containerd/4f797c539e6c", nil, "delete its pod, which Kubernetes creates again: crictl inspect 4f797c539e6c names it"},
		{"ecs/4f797c539e6c", nil, "restart the container, or create it again from a current image"},
	} {
		if got := inContainer(c.container, c.inside); got != c.want {
			t.Errorf("%s %v:\n got %s\nwant %s", c.container, c.inside, got, c.want)
		}
	}
}
