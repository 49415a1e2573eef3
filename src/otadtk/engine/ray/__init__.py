"""The engine on a Ray cluster.

engine     RayEngine: the options of a cluster, and one run at a time
run        one run: who works at which batch, and what happens when a worker dies
pool       the actors, kept from one run to the next
prefetch   tasks that prefetch for the actors on free CPUs
batches    the items of a run, in batches
actor      what runs in the processes of the cluster
cluster    connecting, and counting CPUs and GPUs
"""
