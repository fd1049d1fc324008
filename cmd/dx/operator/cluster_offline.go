package operator

import (
	"context"
	"fmt"
	"io"
	"slices"

	"duplex/cluster"
	"duplex/cmd/dx/cli"
)

// Commands that change the data of a node that is stopped (docs/rules/operation.md#cluster).
type (
	clusterInit struct {
		Data    string `required:"" help:"Data directory of the single machine, which must be stopped." type:"existingdir"`
		Node    string `required:"" help:"Name of the member that it becomes." placeholder:"NAME"`
		Cluster string `required:"" help:"All members with the addresses of their peer ports: a=H1:7000,b=H2:7000,c=H3:7000." placeholder:"LIST"`
	}
	clusterDetach struct {
		Data string `required:"" help:"Data directory of the member, which must be stopped." type:"existingdir"`
	}
	clusterRecover struct {
		Data string   `required:"" help:"Data directory of the member that begins the new cluster; it must be stopped." type:"existingdir"`
		Also []string `help:"Data directory of another member of the same cluster, or a copy of it; repeat it for several." placeholder:"DIR" type:"existingdir" sep:"none"`
	}
)

func (c *clusterInit) Run(out io.Writer) error {
	members, err := cluster.ParseAddresses(c.Cluster)
	if err != nil {
		return cli.BadFlag("cluster", err)
	}
	switch {
	case !slices.ContainsFunc(members, func(m cluster.Address) bool { return m.Name == c.Node }):
		return cli.BadFlag("node", fmt.Errorf("%q is not in the list of --cluster", c.Node))
	case !cluster.MayForm(len(members)):
		return cli.BadFlag("cluster", cluster.ErrSize)
	}
	p, err := cluster.Init(c.Data, c.Node)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `whole: %s commands, up to seq %d, state hash %x
%s now begins a cluster as member %s. Start it with --node %s --cluster %s, and every other member with an empty data directory, the same --cluster and --join. All need the master key of this venue as DX_MASTER_KEY.
`, cli.Grouped(p.Commands), p.Seq, p.Hash, c.Data, c.Node, c.Node, c.Cluster)
	return err
}

func (c *clusterDetach) Run(ctx context.Context, out io.Writer) error {
	r, err := cluster.Detach(ctx, c.Data)
	if err != nil {
		return err
	}
	printRecovered(out, &r)
	_, err = fmt.Fprintf(out, "%s is the data of a single machine now. Start it without --node and --cluster, and with the cluster's DX_MASTER_KEY.\n", c.Data)
	return err
}

func (c *clusterRecover) Run(ctx context.Context, out io.Writer) error {
	r, err := cluster.Recover(ctx, c.Data, c.Also)
	if err != nil {
		return err
	}
	printRecovered(out, &r)
	next := r.Proof.Seq + 1
	switch {
	case len(r.Unusable) == 0:
		fmt.Fprintf(out, "Not known: what only the lost members have. Commands that they answered and that never reached these directories would begin at seq %d.\n", next)
	case len(r.Damaged) > 0:
		fmt.Fprintf(out, "Not known: what the damaged archives had, and the newest commands, which the members also kept in etcd. Commands that were answered, from seq %d on, may be missing.\n", next)
	default:
		fmt.Fprintf(out, "Not known: the members also kept the newest commands in etcd, and some of that cannot be read. Commands that were answered within 200 ms before the end, from seq %d on, may be missing; more if ArchiveBehind was firing.\n", next)
	}
	if r.Kept != "" {
		fmt.Fprintf(out, "etcd's data are kept in %s.\n", r.Kept)
	}
	_, err = fmt.Fprintf(out, "%s begins a new cluster. Start it with --node and itself alone in --cluster; then add the others with dx cluster add, each with an empty data directory and --join. Never start another member with its old data.\n", c.Data)
	return err
}

func printRecovered(out io.Writer, r *cluster.Recovered) {
	for _, err := range slices.Concat(r.Damaged, r.Unusable) {
		fmt.Fprintf(out, "not readable: %v\n", err)
	}
	fmt.Fprintf(out, "whole: groups up to %d, up to seq %d, state hash %x\n", r.Number, r.Proof.Seq, r.Proof.Hash)
	if r.From != "" {
		fmt.Fprintf(out, "the archive ended at group %d, and what comes after it is from etcd's data in %s", r.Archive, r.From)
		if r.Unconfirmed > 0 {
			fmt.Fprintf(out, "; the last %s groups were not known to be confirmed, and may have been answered or not", cli.Grouped(r.Unconfirmed))
		}
		fmt.Fprintln(out)
	}
}
