"""Reading a configuration of MirrorMaker 2, in whatever form it is written.

In reading order: `configuration`, `text_input`, `properties`, `mm2_properties`, `dedicated`,
`connectors`, `connect_json`, `strimzi`, `strimzi_security`, `yaml_nodes`.
"""
