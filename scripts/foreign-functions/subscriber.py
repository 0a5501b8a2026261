#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Provisions free5GC's database with one subscriber."""

from pymongo import MongoClient

UE = "imsi-001010000000001"
SLICE = {"sst": 1, "sd": "010203"}


def documents():
    """Collections and their documents: keys (test set 1 of TS 35.208), subscription, policies."""
    data = "subscriptionData.provisionedData."
    authentication = "subscriptionData.authenticationData.authenticationSubscription"
    here = {"ueId": UE, "servingPlmnId": "00101"}
    types = {"defaultSessionType": "IPV4", "allowedSessionTypes": ["IPV4"]}
    modes = {"defaultSscMode": "SSC_MODE_1", "allowedSscModes": ["SSC_MODE_1"]}
    profile = {"5qi": 9, "arp": {"priorityLevel": 8, "preemptCap": "", "preemptVuln": ""}, "priorityLevel": 8}
    ambr = {"uplink": "1 Gbps", "downlink": "1 Gbps"}
    network = {"pduSessionTypes": types, "sscModes": modes, "5gQosProfile": profile, "sessionAmbr": ambr}
    yield authentication, {
        "ueId": UE,
        "authenticationMethod": "5G_AKA",
        "encPermanentKey": "465b5ce8b199b49faa5f0a2ee238a6bc",
        "encOpcKey": "cd63cb71954a9f4e48a5994e37a02baf",
        "authenticationManagementField": "8000",
        "algorithmId": "milenage",
        "sequenceNumber": {"sqnScheme": "NON_TIME_BASED", "sqn": "000000000020", "lastIndexes": {"ausf": 0}},
    }
    yield data + "amData", {
        **here,
        "gpsis": ["msisdn-0900000000"],
        "subscribedUeAmbr": ambr,
        "nssai": {"defaultSingleNssais": [SLICE], "singleNssais": []},
    }
    yield data + "smData", {**here, "singleNssai": SLICE, "dnnConfigurations": {"internet": network}}
    yield data + "smfSelectionSubscriptionData", {
        **here,
        "subscribedSnssaiInfos": {"01010203": {"dnnInfos": [{"dnn": "internet"}]}},
    }
    yield "policyData.ues.amData", {"ueId": UE, "subscCats": ["free5gc"]}
    yield "policyData.ues.smData", {
        "ueId": UE,
        "smPolicySnssaiData": {"01010203": {"snssai": SLICE, "smPolicyDnnData": {"internet": {"dnn": "internet"}}}},
    }


def main():
    """Writes them."""
    database = MongoClient("mongodb://127.0.0.1:27017", serverSelectionTimeoutMS=10_000)["free5gc"]
    for collection, document in documents():
        database[collection].insert_one(document)


if __name__ == "__main__":
    main()
