"""Makes a bucket and a user who may do everything, then has the server ask for keys; prints what a client needs."""

import json
import sys
import urllib.request

import boto3

endpoint, bucket = sys.argv[1:]
# Until keys are asked for, any will do.
anyone = {
    "endpoint_url": endpoint,
    "region_name": "us-east-1",
    "aws_access_key_id": "any",
    "aws_secret_access_key": "any",
}
boto3.client("s3", **anyone).create_bucket(Bucket=bucket)
iam = boto3.client("iam", **anyone)
iam.create_user(UserName="plimsoll")
everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
iam.put_user_policy(UserName="plimsoll", PolicyName="everything", PolicyDocument=json.dumps(everything))
key = iam.create_access_key(UserName="plimsoll")["AccessKey"]
ask = urllib.request.Request(f"{endpoint}/moto-api/reset-auth", data=b"0", headers={"Content-Type": "text/plain"})
urllib.request.urlopen(ask, timeout=30).close()
print(f"AWS_ACCESS_KEY_ID={key['AccessKeyId']}")
print(f"AWS_SECRET_ACCESS_KEY={key['SecretAccessKey']}")
