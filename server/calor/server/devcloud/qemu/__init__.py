"""Servers of the dev cloud that are virtual machines: they boot images that are disks (qcow2, raw).

`vm.VirtualMachine` is to the driver what a sandbox is; networks, security groups and the fixed addresses are the same.
"""
